"""The command line: one module a group of commands, no logic of its own.

May import everything but plugins. Begin at `main`, then `options`.
"""
