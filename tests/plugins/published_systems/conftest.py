"""Fixtures of the tests of systems."""

from conftest_systems import endpoint

__all__ = ["endpoint"]
