"""Runs models and searches vectors by the workers of a Ray cluster; the driver writes what is kept.
Without a cluster, processes that share a folder divide a build (`shards`).

Reaches the core through ``engines``, ``builders`` and ``cli.command``. Begin at `runner`,
then `pool`.
"""
