"""Recipes of builds and options of other commands: one record per kind or command.

May import the rest of `schemas`. Begin at `base`, then `rage`.
"""
