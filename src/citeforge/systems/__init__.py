"""Systems that produce submissions: baselines without a model, and systems that ask an LLM.

May import everything below it. Begin at `run`, then `registry`.
"""
