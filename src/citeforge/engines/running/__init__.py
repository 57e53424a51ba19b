"""Models, judges and stores made from run options, on this machine or a Ray cluster.

May import all of `engines`. Begin at `setup`, then `runner` and `ray_runner`.
"""
