"""From a folder of documents to a benchmark: no queries and no judgements are needed.

`reading` makes passages of files, and is the source ``folder:``; `rounds` has questions written and
drops those that `checks` finds unsound; `build` packages the others. Reaches the core as plugins of
others do. Begin at `kinds`, then `build`.
"""
