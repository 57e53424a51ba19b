"""``citeforge view``: a local, read-only page over packages, answers, scores and reports.

Begin at `server`; `found` lists what is below a folder, `rows` what the list shows of it, and
`pages` calls the writers of reports and comparisons. No page is laid out here but the list.
"""
