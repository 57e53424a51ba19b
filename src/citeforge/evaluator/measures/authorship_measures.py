"""Declarations of the authorship measures (METRICS section 5)."""

from __future__ import annotations

from citeforge.evaluator.measures.declared import Measure

_PAPER = "Abolghasemi et al. 2025, section 3.3"

AUTHORSHIP_MEASURES = (
    Measure(
        "Auth.P", "authorship", "relevant among the distinct cited passages, per cell",
        0, 1, 100, "an authorship benchmark", _PAPER,
    ),
    Measure(
        "Auth.R", "authorship", "cited among the relevant passages, per cell",
        0, 1, 100, "an authorship benchmark", _PAPER,
    ),
    Measure(
        "Auth.EM", "authorship", "some gold answer is part of the output, per cell",
        0, 1, 1, "gold short answers", _PAPER,
    ),
    Measure(
        "Cited.relevant", "authorship", "distinct relevant passages cited, per cell",
        0, None, 1, "an authorship benchmark", "Abolghasemi et al. 2025, tables 12 and 13",
    ),
    Measure(
        "Cited.total", "authorship", "distinct passages cited, per cell",
        0, None, 1, "an authorship benchmark", "Abolghasemi et al. 2025, tables 12 and 13",
    ),
    Measure(
        "AC.relevant", "authorship", "mean probability of citation tokens, relevant passages",
        0, 1, 1, "logprobs in the submission", _PAPER,
    ),
    Measure(
        "AC.other", "authorship", "mean probability of citation tokens, other passages",
        0, 1, 1, "logprobs in the submission", _PAPER,
    ),
    *(
        Measure(
            f"CAS.{m}", "authorship", f"mean |{m} with labels − {m} of vanilla|: sensitivity",
            0, 1, 100, "an authorship benchmark", f"{_PAPER}, equation 1",
        )
        for m in "PR"
    ),
    *(
        Measure(
            f"CAB.{m}", "authorship",
            f"ω · mean ({m} of the first − {m} of the second labelling): bias, + towards humans",
            -1, 1, 100, "an authorship benchmark", f"{_PAPER}, equations 2, 3 and 5",
        )
        for m in "PR"
    ),
)  # fmt: skip
