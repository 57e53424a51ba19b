"""How heavy work is done, behind small protocols.

May import schemas. Begin at `registry` and `plugins`, then at a folder, such as `models`;
`running` has what other floors ask for.
"""
