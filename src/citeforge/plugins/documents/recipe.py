"""The recipe of ``build documents``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import yaml
from pydantic import Field, JsonValue, model_validator

from citeforge.engines.keys import mask_address
from citeforge.engines.running.names import OFFLINE
from citeforge.engines.running.setup import is_own
from citeforge.engines.textfiles import read_yaml, validated, yaml_line
from citeforge.plugins.documents.design import BASES, INPUTS, Design, DesignedForm
from citeforge.plugins.documents.prompts import shows_seeds
from citeforge.plugins.documents.wishes import Wishes
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.recipes.base import Judging, Licensed, Option, Part, make_record
from citeforge.schemas.recipes.groups import (
    DRY,
    EMBEDDING,
    ENDPOINTS,
    LOCAL,
    NEGATIVES,
    QUESTIONS,
    RUNNER,
    VERDICTS,
    Group,
)
from citeforge.schemas.recipes.rage import DEFAULT_MIXTURE, Mining, Mixture

PASSAGE_SIZE = 900
"""Characters of a passage: about 150 English words."""
MOST_MEGABYTES = 100
"""Size up to which a document is read."""


_OPTIONS = dict(
    zip(INPUTS, ("--llm", "--checker", "--judge", "--embedder", "--seeds"), strict=True)
)
"""Key of a design to the option in its place."""
DESIGN_FILE = "design.yaml"
"""Name of a design whose own file is unknown, in commands."""


def _dump_wishes(part: Wishes) -> dict[str, Any]:
    """Convert wishes on a question (language, length, …) to fields for YAML."""
    return part.own_wishes.model_dump(mode="json", exclude_defaults=True)


class QuestionShares(Part):
    """Proportions of the forms of questions."""

    single: Annotated[int, QUESTIONS] = Field(50, ge=0)
    """Share of questions that one passage answers."""
    pair: Annotated[int, QUESTIONS] = Field(20, ge=0)
    """Share of those that take two passages together."""
    lists: Annotated[int, Option("--list"), QUESTIONS] = Field(20, ge=0)
    """Share of those with several answers."""
    absent: Annotated[int, QUESTIONS] = Field(10, ge=0)
    """Share of those that no passage answers."""

    @model_validator(mode="after")
    def _require_a_share(self) -> Self:
        """Refuse shares of question forms that leave no answerable question."""
        if not (self.single or self.pair or self.lists):
            raise ValueError("--single, --pair or --list must be above 0")
        return self

    @property
    def forms(self) -> tuple[DesignedForm, ...]:
        """Question forms (``single``, ``list``, …) with a share above 0, as declared."""
        shares = (self.single, self.pair, self.lists, self.absent)
        rows = zip(BASES, shares, strict=True)
        return tuple(DesignedForm(name=name, share=share) for name, share in rows if share)


class Asking(Part):
    """Settings for writing and checking questions."""

    tries: Annotated[int, QUESTIONS] = Field(3, ge=1)
    """Maximum questions written for each one wanted."""
    closed_book: Annotated[int, QUESTIONS] = Field(3, ge=0)
    """Tries of the LLM without any passage; a question that it then answers is dropped."""
    longest_copy: Annotated[int, QUESTIONS] = Field(7, ge=1)
    """Maximum words in a row that a question takes from its passage."""
    neighbours: Annotated[int, QUESTIONS] = Field(50, ge=1)
    """Nearest passages of a question in which the answer is looked for."""
    shown: Annotated[int, QUESTIONS] = Field(5, ge=1)
    """Nearest passages that the LLM reads, to test whether the question needs its evidence."""


class DocumentsRecipe(Licensed):
    """Questions about your documents, with the passages that answer them: no queries needed.

    An LLM writes questions about passages, and checks reject unsound ones; every rejected question
    is kept with the reason. Nothing is paid for twice: replies are kept in OUT.replay.db (or
    --store), verdicts in OUT.verdicts.db (or --verdicts).
    """

    kind: ClassVar[str] = "documents"
    run_options: ClassVar[tuple[Group, ...]] = (
        EMBEDDING,
        VERDICTS,
        LOCAL,
        DRY,
        ENDPOINTS,
        RUNNER,
    )
    show_option: ClassVar[str] = "--show-design"
    plan_option: ClassVar[str] = "--plan-only"
    no_batch: ClassVar[str] = "questions are written and checked in rounds until there are enough"

    source: Annotated[str, Option(input=True)]
    """folder:PATH, or another source of passages (corpus:PATH), which are not cut."""
    llm: Annotated[str | None, Option(input=True, names="llms")] = None
    """LLM that writes questions and tries to answer them: {llms}. Or the design names it."""
    checker: Annotated[str | None, Option(input=True, names="llms"), QUESTIONS] = None
    """LLM that tries to answer the questions, to check them (default: --llm): {llms}."""
    n_queries: Annotated[int, Option("--queries")] = Field(200, ge=1)
    """Number of questions."""
    shares: QuestionShares = QuestionShares()
    """Proportions of the forms of questions."""
    design: Annotated[
        str | dict[str, JsonValue] | None, Option(metavar="FILE.yaml", input=True)
    ] = None
    """Design of the questions: users and forms with their shares (docs/documents.md)."""
    seed: int = 0
    """Seed of every draw."""
    asking: Asking = Asking()
    """Settings for writing and checking questions."""
    judging: Judging = Judging()
    """Judge that decides whether passages entail answers."""
    embedder: Annotated[str | None, Option(input=True, names="embedders")] = None
    """Embedder of questions and passages: {embedders} (default: the design's, or offline)."""
    embedder_revision: Annotated[str | None, EMBEDDING] = None
    """Commit, tag or branch of a Hub model."""
    passage_size: Annotated[int, QUESTIONS] = Field(PASSAGE_SIZE, ge=100)
    """Maximum characters per passage."""
    largest_file: Annotated[int, QUESTIONS] = Field(MOST_MEGABYTES, ge=1)
    """Maximum megabytes of a file; larger ones are left out. JSON Lines is read at any size."""
    mining: Mining = Mining()
    """Mining of negatives."""
    mixtures: Annotated[
        tuple[Mixture, ...], Option("--mixture", metavar="NAME=REL,IRR,SEEM"), NEGATIVES
    ] = Field((DEFAULT_MIXTURE,), min_length=1)
    """Context set, repeatable (default mix=3,3,3)."""
    decided: Annotated[Path | None, Option(metavar="audit.json", input=True), NEGATIVES] = None
    """Drop negatives that an audit decided are relevant."""
    labels: Annotated[tuple[Path, ...], Option(metavar="LABELS.jsonl", input=True), QUESTIONS] = ()
    """People's relevance labels of passages (labels import), repeatable."""
    seeds: Annotated[Path | None, Option(metavar="QUESTIONS.jsonl", input=True), QUESTIONS] = None
    """Questions that users have (question, perhaps answers): examples that no question copies."""
    keep_seeds: Annotated[bool, QUESTIONS] = False
    """Find evidence for the --seeds, check them, and package those that pass."""
    decided_questions: Annotated[
        Path | None, Option(metavar="SHEET.csv", input=True), QUESTIONS
    ] = None
    """Package the questions that a person kept or edited (labels export --task questions)."""
    keep_from: Annotated[Path | None, Option(metavar="DIR", input=True), QUESTIONS] = None
    """Keep the questions of an earlier package whose evidence did not change and that pass the
    checks again; write those that are missing."""

    @model_validator(mode="after")
    def _require_seeds(self) -> Self:
        """Refuse --keep-seeds without --seeds or a design, --decided-questions with --keep-from."""
        if self.keep_seeds and self.seeds is None and self.design is None:
            raise ValueError("--keep-seeds requires --seeds")
        if self.keep_from is not None and self.decided_questions is not None:
            raise ValueError(
                "--decided-questions is about questions of one build; --keep-from brings those of "
                "another, as they were decided"
            )
        return self

    def settings_text(self) -> str:
        """Write all question settings (design) as YAML, with built-in descriptions and options.

        Raises:
            InputError: the design file is at fault.
            UsageError: forms are named by the design and by options.
        """
        recipe = self.with_design_inputs()
        design = recipe.load_design()
        forms = [
            {"name": form.name, **({} if own.like is None else {"like": own.like}),
             "share": form.share, "description": form.description, **_dump_wishes(own)}
            for form, own in zip(design.forms, design.questions, strict=True)
        ]  # fmt: skip
        users = [
            {"name": user.name, "share": user.share, "description": user.description,
             **_dump_wishes(user)}
            for user in design.users
        ]  # fmt: skip
        inputs = (recipe.llm, recipe.checker, recipe.judging.judge, recipe.embedder, recipe.seeds)
        named = zip(INPUTS, (v and str(v) for v in inputs), strict=True)
        content: dict[str, Any] = {"brief": design.brief, "users": users, "questions": forms}
        content |= {k: v for k, v in design.model_dump(mode="json").items() if k not in content}
        content |= dict(named)
        return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)

    def with_file_names(self) -> Self:
        """Copy the recipe with a file's name in place of question settings in it (design)."""
        return self if self.design is None else self.model_copy(update={"design": DESIGN_FILE})

    def with_recorded_files(self, config: Mapping[str, Any]) -> Self:
        """Return the recipe with the design file's name from a manifest's ``config``."""
        own = config.get("design_file")
        return self.model_copy(update={"design": own["name"]}) if own else self

    def recorded_design(self) -> dict[str, Any] | None:
        """Get the question settings (design) as the manifest records them; None without any.

        Models and seeds are recorded as those of the recipe.
        """
        if self.design is None:
            return None
        return self.read_design().model_dump(mode="json", exclude={*INPUTS})

    def content_inputs(self) -> list[str]:
        """List models and files in the question settings (design), each as a command-line option.

        Raises:
            InputError: the file cannot be read, or a field is at fault.
            UsageError: a field of the recipe's own design is at fault.
        """
        design = self.read_design()
        named = ((key, getattr(design, key)) for key in INPUTS)
        return [f"{_OPTIONS[key]} {value}" for key, value in named if value]

    @property
    def writer(self) -> str:
        """Name of the LLM that writes questions; raises an error if there is none.

        Raises:
            UsageError: neither an option nor the design names one.
        """
        if self.llm is None:
            raise UsageError(
                "Missing option '--llm' (or the key `writer` of --design)", code="missing-option"
            )
        return self.llm

    @property
    def embedder_name(self) -> str:
        """Name of the embedder for questions and passages."""
        return self.embedder or OFFLINE

    def with_design_inputs(self) -> Self:
        """Copy the recipe with models and seeds from the question settings where options name none.

        Raises:
            InputError: the design cannot be read, a field is at fault, or it names a program.
            UsageError: seeds are to be kept, and nothing names them.
        """
        design = self.read_design()
        judging = self.judging
        if judging.judge is None:
            judging = judging.model_copy(update={"judge": design.judge})
        update = {
            "llm": self.llm or self._name_llm(design, "writer"),
            "checker": self.checker or self._name_llm(design, "checker"),
            "judging": judging,
            "embedder": self.embedder or design.embedder or OFFLINE,
            "seeds": self.seeds or (design.seeds and Path(design.seeds)),
        }
        if self.keep_seeds and update["seeds"] is None:
            raise UsageError(
                "--keep-seeds requires --seeds, or the key `seeds` of --design", code="bad-option"
            )
        return self.model_copy(update=update)

    def _name_llm(self, design: Design, key: str) -> str | None:
        """Get the LLM under a key of question settings; refuse a user's own program or server.

        A program or a server of the user's own is refused: a design may be another person's.

        Raises:
            InputError: it is one; names file and line of the key, and the option in its place.
        """
        name: str | None = getattr(design, key)
        if name is None or not is_own(name):
            return name
        what = "starts a program" if name.startswith("exec:") else "sends the documents to a server"
        raise self.design_error(
            f"{what}, which a design may not: {mask_address(name)!r}", (key,),
            f"the option {_OPTIONS[key]}, if that is wanted",
        )  # fmt: skip

    def read_design(self) -> Design:
        """Read the question settings (design), from their file or the recipe; resolve paths.

        Raises:
            InputError: the file cannot be read, or a field is at fault; names line and field.
            UsageError: a field of the recipe's own design is at fault.
        """
        if isinstance(self.design, str):
            path = Path(self.design)
            return validated(Design, read_yaml(path), path).resolve_paths(path.parent)
        return make_record(Design, **(self.design or {}))

    def design_error(
        self, message: str, json_path: tuple[str | int, ...], allowed: str
    ) -> InputError:
        """Make the error for a field of question settings: message, allowed values, file and line.

        Args:
            message: what is wrong.
            json_path: names and indices that lead to the field.
            allowed: what would be right.
        """
        path = Path(self.design) if isinstance(self.design, str) else None
        return InputError(
            message, path=path, line=None if path is None else yaml_line(path, json_path),
            field=".".join(map(str, json_path)), allowed=allowed, code="wrong-value",
        )  # fmt: skip

    def load_design(self) -> Design:
        """Read the question settings (design), with question forms from options if they have none.

        Raises:
            InputError: the file cannot be read, a field is at fault, or the template for questions
                does not show the seeds; names line and field.
            UsageError: forms are named by the design and by options, or there is a brief alone.
        """
        design = self.read_design()
        if "brief" in design.model_fields_set and design.model_fields_set <= {"brief", *INPUTS}:
            raise UsageError(
                "--design: has a brief and nothing else; --plan-only --out PLAN.yaml has --llm "
                "propose a design of it",
                code="missing-option",
            )
        source = design.prompts.question
        if self.seeds is not None and source is not None and not shows_seeds(source):
            raise self.design_error(
                "does not show seeds, and --seeds is given", ("prompts", "question"),
                'a template with {{ quote(seeds|join("\\n")) }}, or no --seeds',
            )  # fmt: skip
        if not design.questions:
            return design.model_copy(update={"questions": self.shares.forms})
        if self.shares != QuestionShares():
            raise UsageError(
                "--single, --pair, --list and --absent: the design has forms with shares of its "
                "own (questions:); say it in one place",
                code="option-without-effect",
            )
        return design
