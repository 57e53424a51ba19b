"""What the pages of a benchmark tell: the first page (about.py), and each query's."""
