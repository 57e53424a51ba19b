"""Language models without an endpoint's help: the embedded LLM, and perplexity by any model.

Reaches the core through ``engines``. Begin at `declared`, then `offline` and `causal`.
"""
