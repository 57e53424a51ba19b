"""Measures, one family a file; `registry` declares them."""
