"""ALiiCE's ``calculate_cv`` beside our ``reference``."""

import importlib
import sys
import types
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from peers import hard_answers as hard
from peers.frozen import FrozenNumbers, Program

EVALUATOR = Program("aliice_cvcp", "ylXuu/ALiiCE", "eval.py: calculate_cv()", "test_cvcp_peer.py")
N_QUESTIONS = 20
STUBS = (
    "torch", "pandas", "matplotlib", "matplotlib.pyplot", "transformers", "rouge_score", "myparser",
)  # fmt: skip


def run_evaluator(checkout: Path, outputs: list[str]) -> float | None:
    """The coefficient that ``eval.py`` computes; None where it divides by zero."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        hard.install_punkt(Path(folder), patch)
        for name in STUBS:
            stub = types.ModuleType(name)
            stub.__getattr__ = lambda attribute: types.SimpleNamespace(  # type: ignore[method-assign]
                is_available=lambda: False, __call__=lambda *words: None
            )
            patch.setitem(sys.modules, name, stub)
        patch.setattr(sys.modules["torch"], "device", str, raising=False)
        patch.syspath_prepend(str(checkout))
        patch.delitem(sys.modules, "utils", raising=False)
        evaluator = importlib.import_module("eval")
        for name in ("eval", "utils"):
            sys.modules.pop(name)
        try:
            return float(evaluator.calculate_cv([{"output": text} for text in outputs])["cv"])
        except ZeroDivisionError:
            return None


@pytest.mark.parametrize("kind", hard.KINDS)
def test_hard_answers(printed: FrozenNumbers, kind: str) -> None:
    rows = hard.make_items(kind, N_QUESTIONS, seed=7)
    theirs = printed(EVALUATOR, kind, run_evaluator, [output for _, output, _ in rows])
    ours = hard.totals(hard.make_inputs(rows), ["CVCP"])["CVCP"]
    assert ours == pytest.approx(float("nan") if theirs is None else theirs, abs=1e-9, nan_ok=True)
