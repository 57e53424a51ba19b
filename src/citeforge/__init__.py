"""Build, package, publish and score benchmarks for cited generation."""

__version__ = "0.1.0"
