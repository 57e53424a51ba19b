"""Commands that make benchmarks."""
