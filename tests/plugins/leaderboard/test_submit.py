"""What a leaderboard says of submissions that it cannot score."""

from __future__ import annotations

from citeforge.evaluator.submissions.reader import SeveralContextsError
from citeforge.plugins.leaderboard import submit


def test_several_context_sets_are_told_without_an_option_of_score() -> None:
    told = submit._refusal(SeveralContextsError(["mix", "hard"]))
    assert told.endswith("write one of them into leaderboard.yaml, at the board's score: "
                         "context: mix | hard")  # fmt: skip
    assert "--context" not in told
