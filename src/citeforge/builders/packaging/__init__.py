"""What turns tables into a package, and what checks one.

May import everything below builders. Begin at `package`, then `verify`.
"""
