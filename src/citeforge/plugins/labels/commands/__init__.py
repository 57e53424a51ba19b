"""The commands ``citeforge labels …``; begin at `labels`."""
