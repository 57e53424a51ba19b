"""Benchmarks in the layouts of the papers and of other tools: ``citeforge export``.

Reaches the core through ``publish.export``. `datasets` writes whole data sets, `questions` one row
a question.
"""
