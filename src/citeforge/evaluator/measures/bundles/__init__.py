"""Answers to the cells of bundles."""
