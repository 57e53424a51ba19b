"""Recipes as files, compared with what stands in a folder; and packages that others are made of.

May import everything below builders. Begin at `files`, then `changes`.
"""
