"""Commands that give benchmarks and scores to others."""
