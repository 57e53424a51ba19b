"""How heavy work is done, behind small protocols.

May import schemas. The modules here read and write files and tables, show progress, and find
plugins. Begin at `registry` and `tables`, then at a folder, such as `models`; `running` has what
other folders ask for.
"""
