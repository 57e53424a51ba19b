"""Sizes that a recipe may change. Importing them imports nothing."""

PASSAGE_SIZE = 900
"""Characters of a passage: about 150 English words."""
MOST_MEGABYTES = 100
"""Size up to which a document is read."""
