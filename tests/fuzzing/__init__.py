"""A fuzzer of files: every example file, damaged, through every command that reads it.

Run as ``make fuzz-files``, or ``PYTHONPATH=tests python -m fuzzing --help``.
"""
