"""``python -m citeforge``."""

from citeforge.cli.main import main

main()
