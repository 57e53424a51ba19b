"""Read sources of benchmarks in other formats, one file per format.

May import schemas and engines. Begin at `source`, then `registry`.
"""
