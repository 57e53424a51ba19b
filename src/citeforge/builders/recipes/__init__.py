"""Recipes as files, compared with what stands in a folder, and carried out again.

May import everything below builders. Begin at `files`, then `rebuild`.
"""
