"""DeepResearch Bench: formats of its reports, and FACT's measures of their citations.

Reaches the core through ``evaluator``. Begin at `reader`, then `fact`.
"""
