"""From a folder of documents to a benchmark: no queries and no judgements are needed.

`reading` makes passages of files, and is the source ``folder:``. Reaches the core as plugins of
others do. Begin at `reading.source`.
"""
