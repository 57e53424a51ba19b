"""Fixtures of the measure tests."""

from conftest_evaluator import measure

__all__ = ["measure"]
