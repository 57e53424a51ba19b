"""Packages as they lie on disk: the one reader of their tables."""
