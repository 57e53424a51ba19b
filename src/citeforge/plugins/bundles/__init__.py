"""Bundles: does a system refuse where it should, cite what it used, and does position matter?

Three kinds of benchmark, their measures and control systems. Reaches the core as plugins of others
do. Begin at `kinds`, then `build`.
"""
