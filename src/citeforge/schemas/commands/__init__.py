"""Options of commands other than ``build``, one record a command.

Imports `schemas` alone. Begin at `command_options`.
"""
