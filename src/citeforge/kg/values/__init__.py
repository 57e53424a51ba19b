"""RDF terms, dates, and how precise a date is.

May import schemas. Begin at `terms`.
"""
