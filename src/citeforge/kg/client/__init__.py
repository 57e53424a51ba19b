"""A SPARQL endpoint asked politely, with its replies kept.

May import schemas and engines. Begin at `endpoint`.
"""
