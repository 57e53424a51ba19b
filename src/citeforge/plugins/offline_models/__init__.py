"""Models on this machine: the embedded LLM, perplexity by any model, and OpenVINO (`openvino`).

Reaches the core through ``engines``. Begin at `declared`, then `offline` and `causal`.
"""
