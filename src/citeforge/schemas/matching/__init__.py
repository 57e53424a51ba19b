"""When a short answer is in a text, by one tokeniser (docs/definitions.md#short_answers).

Begin at `answers`: it compares the tokens that `tokens` reads. `folding` makes spellings equal,
`numbers` and `dates` read values.
"""
