"""From sources to benchmarks."""
