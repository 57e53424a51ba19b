"""What systems that ask an LLM share: prompts, steps, calls, editing.

May import everything below systems. Begin at `system`, then `ask`.
"""
