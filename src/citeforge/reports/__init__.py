"""From scores to what people read: tables, pages and plots, one writer per format.

May import everything below it. Begin at `formats` for tables, `pages` for HTML and plots, and
`terminal` for what commands print.
"""
