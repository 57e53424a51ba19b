"""How published files become numbers: one reader a kind of file. Begin at `registry`."""
