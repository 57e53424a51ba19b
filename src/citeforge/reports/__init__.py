"""From scores to what people read: tables, pages and plots, one writer per format.

May import everything below it. Begin at `model`, which computes what is shown, then at a writer:
`terminal`, `markdown`, `latex`, `csv`, `json`, or `pages`, which chooses one by format.
"""
