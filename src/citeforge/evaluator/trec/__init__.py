"""Runs of TREC's report tracks."""
