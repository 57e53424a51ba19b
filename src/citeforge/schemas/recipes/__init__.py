"""A recipe is the record of a build: everything that its tables depend on, one record a kind.

Imports `schemas` alone. Begin at `base`, then `rage`.
"""
