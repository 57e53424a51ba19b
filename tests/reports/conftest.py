"""Fixtures of the tests of reports."""

from conftest_reports import files, scored

__all__ = ["files", "scored"]
