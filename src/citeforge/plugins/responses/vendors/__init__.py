"""Readers of files of APIs, RAG frameworks and tracing tools as submissions.

Each tool is a declaration in ``data/layouts.toml``; one reader reads them all. Reaches the core
through ``evaluator.submissions``. Begin at `formats`, then `layout` and `reader`.
"""
