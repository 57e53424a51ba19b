"""Systems that produce submissions: controls a paper, and systems that ask an LLM (`ask`).

May import everything below it. Begin at `run`, then `registry`.
"""
