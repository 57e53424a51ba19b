"""LLM-written twins of passages (Abolghasemi et al. 2025, section 4 and appendix A).

May import everything below builders and `builders.stages`. Begin at `build`, then `checks`.
"""
