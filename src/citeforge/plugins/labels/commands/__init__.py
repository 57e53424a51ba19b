"""What ``citeforge labels …`` does: one command a file."""
