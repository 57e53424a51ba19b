"""What each kind of benchmark does: one class a kind.

May import everything below it, inside methods. Begin at `rage`; the base is in `package.kinds`.
"""
