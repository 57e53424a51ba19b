"""Build benchmarks from a folder of documents; no queries and no judgements are needed.

`source` cuts files into passages (``folder:PATH``); `rounds` lets an LLM write
questions and drops those that fail the `checks`; `build` packages the others. Reaches the core as
third-party plugins do. Begin at `kinds`, then `build`.
"""
