"""Further models: an LLM that runs in this process, perplexity by any model, embeddings by an
endpoint (`served`), and models computed by OpenVINO (`openvino`).

Reaches the core through ``engines``. Begin at `declared`, then `offline` and `causal`.
"""
