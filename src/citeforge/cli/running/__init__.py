"""Commands that run systems and ask LLMs."""
