"""LLMs: requests, the replay store, the client, and the writers built on them."""
