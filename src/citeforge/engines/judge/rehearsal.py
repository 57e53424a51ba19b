"""Rehearsals: what a run would ask of judges and other models, and what that would cost."""

from collections.abc import Iterator
from dataclasses import dataclass

from citeforge.engines.judge.session import JudgePlan, JudgeSession
from citeforge.engines.ledger import current_ledger
from citeforge.engines.llm.budget import RunPlan, planned_total


@dataclass(frozen=True)
class PlannedJudge:
    """Pairs that a judge would decide.

    Attributes:
        signature: signature of the judge.
        plan: number of pairs, and their tokens and time.
    """

    signature: str
    plan: JudgePlan


@dataclass(frozen=True)
class Rehearsal:
    """What a dry run noted.

    Attributes:
        judges: plan of each judge.
        calls: calls of all models behind endpoints, and their cost; None where none is asked.
    """

    judges: list[PlannedJudge]
    calls: RunPlan | None

    def to_text_lines(self) -> Iterator[str]:
        """Yield the lines of a dry run's report: pairs to judge, model calls and their cost."""
        for judge in self.judges:
            yield f"judge {judge.signature}"
            yield from judge.plan.to_text_lines()
        if self.calls is not None:
            yield from self.calls.to_text_lines()
        else:
            yield "cost               nothing: no model behind an endpoint would be asked"


def sum_up_rehearsal(*sessions: JudgeSession | None) -> Rehearsal:
    """Sum up the pairs to judge and the model calls that a dry run has recorded.

    Args:
        sessions: judges that were rehearsed; None for none.
    """
    ledger = current_ledger()
    judges = [PlannedJudge(s.judge.signature, s.plan_all()) for s in sessions if s is not None]
    return Rehearsal(judges, planned_total(ledger) if ledger.planned else None)
