"""Judge, segmenter, LLM and options of a scoring run."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from citeforge.engines.judge.records import Pair
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.llm.records import Llm
from citeforge.engines.running.names import JUDGES
from citeforge.engines.text.segment import Segmenter
from citeforge.schemas.errors import CiteforgeError
from citeforge.schemas.recipes.command_options import ScoreOptions

WITHHELD = frozenset({"judge", "segmenter", "llm", "statements"})
"""What a measure gets only where its ``uses`` names it."""


def no_judge() -> str:
    """Write why a measure without its judge is not computed, with the judges that there are."""
    return f"needs a judge: --judge {JUDGES.list_forms()}"


class CannotError(CiteforgeError):
    """A measure cannot be computed: the message says what is missing."""


class UndeclaredError(CannotError):
    """A measure uses what its declaration does not name."""

    def __init__(self, name: str) -> None:
        """Make the error for a judge, segmenter, LLM or statements that ``uses`` lacks."""
        super().__init__(
            f"its declaration lacks {name!r} in `uses` (docs/extend.md)", code="broken-plugin"
        )


class _Withheld:
    """Stands for a tool that a measure does not declare; each use of it is an error."""

    def __init__(self, name: str) -> None:
        """Stand for the tool of this name."""
        self._name = name

    def __getattr__(self, attribute: str) -> NoReturn:
        """Raise an error in place of any attribute of the tool.

        Raises:
            UndeclaredError: always.
        """
        raise UndeclaredError(self._name)


@dataclass(frozen=True)
class ScoringTools:
    """Judge, segmenter, LLM and options that measures may need besides the answers.

    Attributes:
        judge: decides entailment.
        segmenter: splits sentences.
        why_no_segmenter: reason, when there is none.
        llm: gives marks (G-Eval), and decides whether a sentence answers at all.
        withheld: names among :data:`WITHHELD` that a measure uses and does not declare.
        levels: where people decide: what they say of single citations (``full``, ``partial``,
            ``not``), by pair; None where a judge does.
        options: what scores depend on besides: protocol, context set, models, assessments.
    """

    judge: JudgeSession | None = None
    segmenter: Segmenter | None = None
    why_no_segmenter: str = ""
    llm: Llm | None = None
    levels: Mapping[Pair, str] | None = None
    options: ScoreOptions = field(default_factory=ScoreOptions)
    withheld: frozenset[str] = frozenset()

    def get_judge(self) -> JudgeSession:
        """Get the judge.

        Raises:
            CannotError: there is none.
        """
        if self.judge is None:
            raise CannotError(no_judge(), code="missing-judge")
        return self.judge

    def get_segmenter(self) -> Segmenter:
        """Get the sentence segmenter.

        Raises:
            CannotError: there is none.
        """
        if self.segmenter is None:
            raise CannotError(self.why_no_segmenter or "needs a segmenter", code="missing-model")
        return self.segmenter

    def limited_to(self, uses: Iterable[str]) -> "ScoringTools":
        """Copy the tools, with an error in place of each one that a measure does not declare.

        So a measure that forgets to declare one fails in its own tests.
        """
        withheld = WITHHELD.difference(uses)
        tools: Any = {name: _Withheld(name) for name in withheld - {"statements"}}
        return replace(self, withheld=withheld, **tools)

    def require_declared(self, name: str) -> None:
        """Check that the measure that is computed declares what it uses.

        Raises:
            UndeclaredError: it does not.
        """
        if name in self.withheld:
            raise UndeclaredError(name)

    @property
    def is_strict(self) -> bool:
        """Whether the scoring protocol is ``strict``."""
        return self.options.protocol == "strict"

    @property
    def keeps_answers(self) -> bool:
        """Whether the score file will contain the answers, which reports can then show."""
        keeps = self.options.details
        return self.segmenter is not None if keeps is None else keeps

    def with_options(self, **changes: object) -> "ScoringTools":
        """Copy the tools with changed options."""
        return replace(self, options=self.options.model_copy(update=changes))
