"""Knowledge graphs in Wikidata's model, embedded, behind an endpoint, or as it once answered.

May import schemas, engines and `ir_convert`. Begin at `domain`, then `graph`.
"""
