"""Judge, segmenter, LLM and options of a scoring run."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from pydantic import RootModel

from citeforge.engines.judge.records import Pair
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.llm.records import Llm
from citeforge.engines.running.names import JUDGES
from citeforge.engines.text.segment import Segmenter
from citeforge.engines.textfiles import read_yaml, validated
from citeforge.schemas.errors import CiteforgeError
from citeforge.schemas.recipes.command_options import ScoreOptions


class Need(Enum):
    """What a measure is handed only where its ``needs`` name it.

    Attributes:
        PASSAGES: what each answer was shown.
        GOLD: the gold rows of each query.
        STATEMENTS: the statements of each answer, with the positions of passages that they cite.
        SEGMENTER: what cuts sentences; statements come without it.
        JUDGE: what decides entailment; without one the measure is not computed.
        JUDGE_IF_ANY: the same, where the measure has another way without one.
        LLM: what answers prompts, if there is one.
        CONTEXTS: the same system's answers to other context sets.
        SCORES: the samples of all other measures that are computed.
        BENCHMARK: the whole benchmark: its manifest, and tables with all gold.
    """

    PASSAGES = "passages"
    GOLD = "gold"
    STATEMENTS = "statements"
    SEGMENTER = "segmenter"
    JUDGE = "judge"
    JUDGE_IF_ANY = "judge, if there is one"
    LLM = "llm"
    CONTEXTS = "contexts"
    SCORES = "scores"
    BENCHMARK = "benchmark"


def no_judge() -> str:
    """Write the error text for a measure without a judge; lists the values of ``--judge``."""
    return f"needs a judge: --judge {JUDGES.list_forms()}"


class CannotError(CiteforgeError):
    """A measure cannot be computed: the message says what is missing."""


class UndeclaredError(CannotError):
    """A measure uses what its declaration does not name."""

    def __init__(self, need: Need) -> None:
        """Make the error for a measure that uses an input it does not declare in ``needs``."""
        super().__init__(
            f"its declaration lacks {need} in `needs` (docs/extend.md)", code="broken-plugin"
        )


class Withheld:
    """Stands for what a measure does not declare; each use of it is an error."""

    def __init__(self, need: Need) -> None:
        """Make a placeholder for an undeclared input; any use of it raises an error."""
        self._need = need

    def _refuse(self, *args: object) -> NoReturn:
        """Raise the error for an input that a measure uses and does not declare.

        Raises:
            UndeclaredError: always.
        """
        raise UndeclaredError(self._need)

    __getattr__ = __getitem__ = __iter__ = __len__ = _refuse


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

    def get_judge(self) -> JudgeSession:
        """Get the judge of entailment; raise an error if the user named none.

        Raises:
            CannotError: there is none.
        """
        if self.judge is None:
            raise CannotError(no_judge(), code="missing-judge")
        return self.judge

    def get_segmenter(self) -> Segmenter:
        """Get the sentence segmenter; raise an error if it is not installed.

        Raises:
            CannotError: there is none.
        """
        if self.segmenter is None:
            raise CannotError(self.why_no_segmenter or "needs a segmenter", code="missing-model")
        return self.segmenter

    def wording(self, name: str) -> str:
        """Get a text by a paper's authors, such as a prompt, from the ``--wordings`` file.

        Raises:
            CannotError: no file is named, or it lacks the text.
            InputError: the file is not a mapping of names to texts.
        """
        path = self.options.wordings
        texts = {} if path is None else read_wordings(path)
        if name not in texts:
            raise CannotError(
                f"needs the authors' wording {name!r}: --wordings FILE.yaml with the line "
                f"`{name}: TEXT`",
                code="missing-field",
            )
        return texts[name]

    def limited_to(self, needs: Collection[Need]) -> "ScoringTools":
        """Copy judge, segmenter and LLM; one that a measure does not declare raises when used.

        So a measure that forgets to declare one fails in its own tests.
        """
        wanted = {Need.JUDGE if need is Need.JUDGE_IF_ANY else need for need in needs}
        tools = {"judge": Need.JUDGE, "segmenter": Need.SEGMENTER, "llm": Need.LLM}
        withheld: Any = {n: Withheld(need) for n, need in tools.items() if need not in wanted}
        return replace(self, **withheld)

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
        """Copy the tools with some scoring options changed."""
        return replace(self, options=self.options.model_copy(update=changes))


class _Wordings(RootModel[dict[str, str]]):
    """File of wordings: name to text."""


@cache
def read_wordings(path: Path) -> dict[str, str]:
    """Read texts by papers' authors from a YAML file, by name; each file is read once.

    Raises:
        InputError: it is not a mapping of names to texts.
    """
    return validated(_Wordings, read_yaml(path), path, allowed="NAME: TEXT on each line").root
