"""The fixture ``citeforge_gate`` of pytest: a gate as a test, with its reasons as the test's text.

pytest loads this module at its start wherever citeforge is installed, so nothing heavy is imported.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from citeforge.schemas.errors import CiteforgeError

if TYPE_CHECKING:
    from citeforge.reports.gate import Decision


@pytest.fixture
def citeforge_gate() -> "Callable[..., Decision]":
    """Function that decides as ``citeforge.gate`` does, and fails the test if it does not pass.

    It takes what :func:`citeforge.library.gates.gate` takes, and returns the decision.
    """

    def decide(*scores: Any, **options: Any) -> "Decision":
        """Run the gate; fail the test with the gate's text unless the verdict is ``pass``."""
        __tracebackhide__ = True
        from citeforge.library.gates import gate

        try:
            decision = gate(*scores, **options)
        except CiteforgeError as error:
            reason = f"could not run: {error}"
        else:
            if decision.verdict == "pass":
                return decision
            reason = str(decision)
        pytest.fail(reason, pytrace=False)  # outside, so that no error is shown as its cause

    return decide
