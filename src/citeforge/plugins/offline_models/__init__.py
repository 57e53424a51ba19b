"""Models beyond the core's: the embedded LLM, perplexity by any model, served embeddings
(`served`), and OpenVINO (`openvino`).

Reaches the core through ``engines``. Begin at `declared`, then `offline` and `causal`.
"""
