"""Default sizes of passages and files, in a module without imports."""

PASSAGE_SIZE = 900
"""Characters of a passage: about 150 English words."""
MOST_MEGABYTES = 100
"""Size up to which a document is read."""
