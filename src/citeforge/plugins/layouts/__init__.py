"""Export benchmarks in the layouts of the papers and of other tools: ``citeforge export``.

Reaches the core through ``publish.export``. Begin at `datasets`, which writes whole data sets, then
`questions`, which writes one row per question.
"""
