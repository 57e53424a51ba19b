"""Reports of deep-research systems, which cite by URL."""
