"""Engines as options of commands ask for them: models, judges and stores, here or on a cluster.

May import all of `engines`. Begin at `setup`, then `runner` and `ray_runner`.
"""
