"""Fixtures of the tests of measures and reports."""

from conftest_evaluator import measure
from conftest_reports import files, scored

__all__ = ["files", "measure", "scored"]
