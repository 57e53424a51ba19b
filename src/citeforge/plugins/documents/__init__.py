"""From a folder of documents to a benchmark: no queries and no judgements are needed.

`reading` makes passages of files, and is the source ``folder:``; `rounds` has questions written,
`checks` and `trials` take those that are not sound, `build` packages the others. Reaches the core
as plugins of others do. Begin at `kinds`, then `build`.
"""
