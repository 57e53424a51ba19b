"""Readers of answers by vendors' APIs, inspect_ai and deep-research systems, as submissions.

`formats` declares the files of each tool, `reader` reads a response by its layout, and `placer`
makes citations marks of the benchmark's grammar. `inspect_files` and `inspect_tasks` are for
inspect_ai, `deep_research` and `fact` for DeepResearch Bench. Reaches the core through
``evaluator``. Begin at `formats`, then `reader`.
"""
