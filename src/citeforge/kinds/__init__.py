"""Kinds of benchmark, one file per kind with its facts and its class.

May import everything below it, inside methods. Begin at `rage`; the base class is in
`package.kinds`, the record of facts in `package.kind_facts`.
"""
