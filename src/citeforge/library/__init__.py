"""What ``import citeforge`` offers: benchmarks and scores from Python."""
