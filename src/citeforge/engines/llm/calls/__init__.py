"""One call to an endpoint: rate, retries, bounds, secrets.

May import schemas, `engines.io` and `engines.llm.stores`. Begin at `endpoint`.
"""
