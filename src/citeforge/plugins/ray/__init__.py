"""``--engine ray``: work in a Ray cluster. Begin at `runner`, then `cluster`."""
