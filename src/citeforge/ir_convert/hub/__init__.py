"""Data sets of the Hugging Face Hub.

May import schemas and engines. Begin at `client`.
"""
