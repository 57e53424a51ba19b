"""One build shared by several processes or machines (``shard``).

Each writes its share into a folder of `builders.stages.shards`. Begin at `commands`, then `shares`.
"""
