"""Bundles: benchmarks that show one question with systematically different passages (cells).

Three kinds: does a system refuse where it should, does it cite what it used, does position matter?
With their measures and control systems. Reaches the core as third-party plugins do. Begin at
`kinds`, then `build`.
"""
