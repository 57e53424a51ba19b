"""What a package consists of: manifest, sources and table schemas.

Imports `schemas` alone. Begin at `manifest`, then `tables`.
"""
