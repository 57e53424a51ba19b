"""Knowledge graphs in Wikidata's model: read from a file, an endpoint, or its stored replies.

May import schemas, engines and `ir_convert`. Begin at `domain`, then `graph`.
"""
