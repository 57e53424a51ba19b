"""Answers of LLMs that were paid for, kept and found again.

May import schemas and `engines.io`. Begin at `replay`.
"""
