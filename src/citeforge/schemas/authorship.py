"""The design of an authorship benchmark: who wrote what, and which author the prompts name.

Terms of Abolghasemi et al. 2025 ("Evaluation of Attribution Bias in Generator-Aware
Retrieval-Augmented Large Language Models"), section 3. The ``first`` label of a set stands for
human authorship, the ``second`` for LLM authorship; other metadata use the two sides likewise.
"""

from collections.abc import Mapping
from typing import Any, Literal, get_args

from pydantic import Field, model_validator

from citeforge.schemas.record import FrozenRecord

Origin = Literal["human", "llm"]
AUTHORS: dict[Origin, str] = {"human": "Human", "llm": "LLM"}
"""Names of the origins in tables."""
Told = Literal["informed", "cf"]
"""``informed``: the prompt names the true author; ``cf``: the counterfactual one."""

PLACEBO = "placebo"


class LabelSet(FrozenRecord):
    """A pair of labels, or of pools that labels are drawn from.

    Attributes:
        name: as in context sets; letters, digits and underscores.
        first: labels of the human side; one is drawn for each passage, without replacement from a
            pool that is larger than one.
        second: labels of the LLM side.
        phrase: what follows a passage in the prompt; ``{label}`` is replaced.
        note: the sentence of the instruction that explains the labels.
        distinct: whether two passages of one context never share a drawn label (names).
        by_lot: whether the side of each passage is drawn, once a query, and its author decides
            nothing; cells that tell of other authors then show the opposite side. So the label of
            a passage says nothing of its relevance or author in any cell (the placebo).
    """

    name: str = Field(pattern=r"^[A-Za-z0-9_]+$")
    first: tuple[str, ...] = Field(min_length=1)
    second: tuple[str, ...] = Field(min_length=1)
    phrase: str = "written by [{label}]"
    note: str = ""
    distinct: bool = False
    by_lot: bool = False

    @model_validator(mode="after")
    def _check_labels(self) -> "LabelSet":
        """Raise an error for empty, multi-line or shared labels, or a phrase without {label}."""
        for side in (self.first, self.second):
            if any(not label.strip() or "\n" in label for label in side):
                raise ValueError("a label is empty or has several lines")
        shared = {s.casefold() for s in self.first} & {s.casefold() for s in self.second}
        if shared:
            raise ValueError(
                f"both sides have the label {sorted(shared)[0]!r}; they must differ, or no bias "
                "towards one of them can be seen"
            )
        if "{label}" not in self.phrase:
            raise ValueError("phrase: {label} is missing")
        return self


class Cell(FrozenRecord):
    """One cell of the design: one context set.

    Attributes:
        context: name of the context set.
        relevant_origin: who wrote the relevant passages as they are shown.
        other_origin: who wrote the others.
        labels: name of the label set; None in vanilla cells.
        relevant_told: author that is named for the relevant passages; None in vanilla cells.
        other_told: author that is named for the others.
    """

    context: str
    relevant_origin: Origin
    other_origin: Origin
    labels: str | None = None
    relevant_told: Told | None = None
    other_told: Told | None = None

    @property
    def origins(self) -> str:
        """Initials of who wrote relevant and other passages (human, LLM): ``hh`` … ``ll``."""
        return self.relevant_origin[0] + self.other_origin[0]

    @property
    def mixed(self) -> bool:
        """Whether relevant and other passages have one origin ("mixed RAG mode" in the paper)."""
        return self.relevant_origin == self.other_origin

    def side(self, relevant: bool) -> Literal["first", "second"] | None:
        """Get the half of the label set (human, LLM) that labels passages; None without labels.

        The first side names people as authors, the second LLMs; a counterfactual label is the
        other side's.

        Args:
            relevant: whether to look up the relevant passages, or the others.
        """
        origin = self.relevant_origin if relevant else self.other_origin
        label = self.relevant_told if relevant else self.other_told
        if label is None:
            return None
        return "first" if (origin == "human") == (label == "informed") else "second"

    @property
    def mode(self) -> str:
        """Name of the RAG mode in the paper, such as ``informed`` or ``cf`` (counterfactual)."""
        if self.relevant_told is None:
            return "vanilla"
        if not self.mixed:
            return "informed" if self.relevant_told == "informed" else "cf"
        return f"{self.relevant_told}_{self.other_told}"


class Design(FrozenRecord):
    """All cells of a benchmark, as in the manifest's ``config`` under ``design``.

    Attributes:
        k: passages a context holds, where enough were found.
        label_sets: in the order of tables.
        cells: in the order of tables.
    """

    k: int = Field(ge=2)
    label_sets: tuple[LabelSet, ...] = Field(min_length=1)
    cells: tuple[Cell, ...]

    def find(self, name: str) -> Cell:
        """Get the experimental condition of a context set; KeyError if there is none."""
        return {c.context: c for c in self.cells}[name]

    def label_set(self, name: str) -> LabelSet:
        """Get a label set by its name; KeyError if there is none."""
        return {s.name: s for s in self.label_sets}[name]


def make_cells(
    origins: tuple[tuple[Origin, Origin], ...], label_sets: tuple[LabelSet, ...]
) -> list[Cell]:
    """Make all experimental conditions: each pair of real authors without and with stated ones.

    Origins that differ get informed and counterfactual labels; equal ones all four pairs of labels
    (section 3.1 and "Mixed RAG mode").

    Args:
        origins: pairs of who wrote the relevant passages, and who the others.
        label_sets: sets of author labels to show.
    """
    cells = []
    for relevant, other in origins:
        initials = relevant[0] + other[0]
        base = {"relevant_origin": relevant, "other_origin": other}
        cells.append(Cell(context=f"{initials}_vanilla", **base))
        told = get_args(Told)
        pairs = [(one, two) for two in told for one in told if relevant == other or one == two]
        for labels in label_sets:
            for pair in pairs:
                cell = Cell(
                    context="-", labels=labels.name, relevant_told=pair[0], other_told=pair[1],
                    **base,
                )  # fmt: skip
                name = f"{initials}_{labels.name}_{cell.mode}"
                cells.append(cell.model_copy(update={"context": name}))
    return cells


def parse_design(config: Mapping[str, Any]) -> Design:
    """Read the experimental design of an authorship benchmark from its manifest's ``config``."""
    return Design.model_validate(config["design"])
