"""What a package consists of: manifest, sources and table schemas.

Imports files of `schemas` alone. Begin at `manifest`, then `tables`.
"""
