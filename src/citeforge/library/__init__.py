"""What ``import citeforge`` offers: benchmarks, scores and rewards from Python."""
