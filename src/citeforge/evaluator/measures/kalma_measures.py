"""Declarations of KaLMA's measures (METRICS section 4)."""

from __future__ import annotations

from citeforge.evaluator.measures.declared import Measure

_PAPER = "Li et al. 2024 (KaLMA), section 4"
_KG = "a kalma benchmark"
_GOLD = "a kalma benchmark with minimum knowledge sets"


def _both(name: str, definition: str, needs: str, *uses: str) -> tuple[Measure, ...]:
    return tuple(
        Measure(
            f"KaLMA.{name}@{how}", "kalma", f"{definition}, {words}", 0, 1, 100, needs, _PAPER, uses
        )
        for how, words in (
            ("micro", "over all of them"),
            ("macro", "per answer, then averaged"),
        )
    )


KALMA_MEASURES = (
    *_both("Corr", "citations that are complete triples of the shown graph", _KG),
    *_both("P", "correct citations in the minimum knowledge set", _GOLD),
    *_both("R", "minimum knowledge hit by a correct citation", _GOLD),
    *_both("F1", "harmonic mean of P and R", _GOLD),
    Measure("KaLMA.Citations", "kalma", "citations per answer", 0, None, 1, _KG, _PAPER),
    Measure("KaLMA.NAs", "kalma", "[NA] marks per answer", 0, None, 1, _KG, _PAPER),
    *_both(
        "Align", "citations that their statement entails", "a judge", "judge", "segmenter"
    ),
    Measure(
        "KaLMA.NA.P", "kalma", "[NA] statements that entail an absent triple, or answer nothing",
        0, 1, 100, "a judge", _PAPER, ("judge", "segmenter"),
    ),
    Measure(
        "KaLMA.NA.R", "kalma", "absent triples that an [NA] statement entails",
        0, 1, 100, "a judge and an absent_… context", _PAPER, ("judge", "segmenter"),
    ),
    *(
        Measure(
            f"GEval.{aspect}", "kalma", f"an LLM's 1 to 5 for {aspect}", 1, 5, 1,
            "--llm", _PAPER, ("llm",),
        )
        for aspect in ("coherence", "consistency", "fluency", "relevance")
    ),
)  # fmt: skip
