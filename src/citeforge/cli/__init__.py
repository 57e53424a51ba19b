"""The command line: one module per group of commands, without logic of its own.

May import everything but plugins. Begin at `main`, then `options`.
"""
