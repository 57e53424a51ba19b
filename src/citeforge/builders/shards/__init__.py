"""One build shared by several processes or machines.

May import everything below builders. Begin at `share`, then `folder`.
"""
