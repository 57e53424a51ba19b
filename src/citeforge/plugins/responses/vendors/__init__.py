"""Responses of Anthropic, OpenAI, Gemini and LangChain as submissions.

Reaches the core through ``evaluator.submissions``. Begin at `formats`.
"""
