"""Models, retrieval, LLMs and judges, behind small protocols; files, tables and plugins.

May import schemas. The modules here read and write files and tables, show progress, and find
plugins. Begin at `catalogue` and `tables`, then at a folder, such as `models`; `running` has what
other folders ask for.
"""
