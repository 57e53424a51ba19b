"""What users name of the engines, and models, judges and stores made from run options.

May import all of `engines`. Begin at `names` and `setup`, then `runner` and `ray_runner`.
"""
