"""Judge, segmenter, LLM and options of a scoring run."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from citeforge.engines.judge.records import Pair
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.llm.records import Llm
from citeforge.engines.text.segment import Segmenter
from citeforge.schemas.choices import JUDGES, listed
from citeforge.schemas.recipes.command_options import ScoreOptions

NO_JUDGE = f"needs a judge: --judge {listed(JUDGES)}"


@dataclass(frozen=True)
class ScoringTools:
    """Judge, segmenter, LLM and options that measures may need besides the answers.

    Attributes:
        judge: decides entailment.
        segmenter: splits sentences.
        why_no_segmenter: reason, when there is none.
        llm: gives marks (G-Eval), and decides whether a sentence answers at all.
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
