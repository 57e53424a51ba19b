"""``build documents --plan-only``: an LLM proposes a design of a sentence and the documents."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from citeforge.builders.build import open_build
from citeforge.builders.writer_prompts import WriterPrompt
from citeforge.engines.draws import sample_ids
from citeforge.engines.files import require_writable, write_text
from citeforge.engines.llm.budget import RunPlan
from citeforge.engines.llm.records import Failure, Llm, Request
from citeforge.engines.llm.writers import require_askable
from citeforge.engines.running.names import llm_for_dry_run, make_llm
from citeforge.engines.running.setup import replay_path, replay_store
from citeforge.engines.text.quoting import without_tags
from citeforge.engines.textfiles import count_text, read_yaml, validated
from citeforge.plugins.documents.corpus import PassagePool, open_documents, read_documents
from citeforge.plugins.documents.design import INPUTS, Design, built_in_forms, built_in_users
from citeforge.plugins.documents.recipe import DocumentsRecipe
from citeforge.plugins.documents.topics import read_topics
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.recipes.base import RunOptions

_DESIGN = "design"
"""Task of the LLM, and name of its template."""
_FOLDER = Path(__file__).parent / "data"
_TRIES = 3
_REPLY_TOKENS = 1500
_USUAL_CHARACTERS, _USUAL_FAULT = 800, 200
"""Characters of a proposal and of what is wrong with it, for estimates."""
_LISTED, _SHORTEST_LINE = 20_000, 80
"""Characters of all lines about documents; least characters of a line that is cut."""
_OF_PEOPLE = ("brief", "prompts", *INPUTS)
"""Keys of a design that no LLM proposes."""
_FENCED = re.compile(r"^```\w*\n(.*?)^```", re.DOTALL | re.MULTILINE)


class Proposal(Design):
    """A design as an LLM proposes it."""

    wishes_left: tuple[str, ...] = ()
    """What is wanted and no other key can express, a sentence per wish."""


@dataclass(frozen=True)
class ProposedDesign:
    """A design that was written to a file for users to edit.

    Attributes:
        path: the file.
        llm: name of the model that proposed it.
        wishes_left: wishes that no key of a design can express.
    """

    path: Path
    llm: str
    wishes_left: tuple[str, ...]

    def summary(self) -> str:
        """Summarise proposed question settings: file, LLM, number of unmet wishes, next step."""
        n_left = len(self.wishes_left)
        left = f"; wishes that no key can express, as its comments: {n_left}" if n_left else ""
        return (
            f"{self.path}: a design proposed by {self.llm}{left}; edit it, then build with "
            f"--design {self.path}"
        )


class DesignWriter:
    """Asks an LLM for a design, and has it mend the faults of its proposals.

    Attributes:
        llm: model that is asked.
        brief: what is wanted, in a sentence.
        listing: names, sizes and headings of the documents, a line each.
        fixed: keys of the design that are decided.
    """

    def __init__(self, llm: Llm, brief: str, listing: str, fixed: Sequence[str] = ()) -> None:
        """Set the LLM, brief, list of documents, and keys already decided; load the template."""
        self.llm, self.brief, self.listing, self.fixed = llm, brief, listing, fixed
        self._template = WriterPrompt(_DESIGN, _FOLDER)

    def to_propose(self, reply: str = "", fault: str = "", attempt: int = 0) -> Request:
        """Make the LLM request for question settings (design), or to mend the fault of a reply.

        Args:
            reply: the last proposal; empty for none.
            fault: what is wrong with it.
            attempt: number of the attempt, from 0.
        """
        values = {
            "brief": self.brief, "listing": self.listing, "reply": reply, "fault": fault,
            "schema": json.dumps(_schema()), "users": built_in_users(),
            "forms": [form.model_dump() for form in built_in_forms().values()],
            "fixed": list(self.fixed),
        }  # fmt: skip
        params = {"temperature": 0.0, "max_tokens": _REPLY_TOKENS}
        return self._template.request(values, params, attempt)

    def propose(self, check_proposal: Callable[[Proposal], object]) -> Proposal:
        """Ask the LLM for question settings, up to three times until ``check_proposal`` accepts.

        Args:
            check_proposal: raises an InputError for a proposal that does not fit the documents.

        Raises:
            InputError: no reply, or none that is a design.
        """
        reply = fault = ""
        for attempt in range(_TRIES):
            (result,) = self.llm.complete([self.to_propose(reply, fault, attempt)])
            if isinstance(result, Failure):
                raise InputError(
                    f"no design was proposed ({result.reason}: {result.message})",
                    allowed="another --llm", code="endpoint-failed",
                )  # fmt: skip
            reply = _find_yaml(without_tags(result.text))
            try:
                proposal = read_proposal(reply, self.fixed)
                check_proposal(proposal)
                return proposal
            except InputError as error:
                fault = str(error)
        raise InputError(
            f"no design in {_TRIES} replies; the last: {fault}",
            allowed="another --llm, or a simpler brief", code="bad-reply",
        )  # fmt: skip

    def requests(self) -> list[Request]:
        """List the LLM requests of all three tries, for planning, with made-up replies."""
        made_up = ("?" * _USUAL_CHARACTERS, "?" * _USUAL_FAULT)
        return [self.to_propose(*(made_up if n else ("", "")), n) for n in range(_TRIES)]


def _schema() -> dict[str, Any]:
    """Make the JSON Schema of question settings (topics, users, …) that an LLM may propose."""
    schema = Proposal.model_json_schema()
    for name in _OF_PEOPLE:
        del schema["properties"][name]
    del schema["$defs"]["Prompts"]
    return schema


def _find_yaml(reply: str) -> str:
    """Extract the YAML from an LLM's reply: its last fenced block, else all of it."""
    blocks = _FENCED.findall(reply)
    return str(blocks[-1]) if blocks else reply


def read_proposal(yaml_text: str, forbidden_keys: Sequence[str] = ()) -> Proposal:
    """Parse question settings that an LLM proposed; raise an error if it has forbidden keys.

    Args:
        yaml_text: YAML.
        forbidden_keys: keys that it may not have.

    Raises:
        InputError: it is no YAML or no design; names line and field.
    """
    with TemporaryDirectory(prefix="citeforge-") as scratch:
        path = Path(scratch) / "design.yaml"
        path.write_bytes(yaml_text.encode("utf-8", "replace"))
        try:
            proposal = validated(Proposal, read_yaml(path), path)
        except InputError as error:
            raise error.at("the proposal", error.line) from error
    barred = [name for name in (*_OF_PEOPLE, *forbidden_keys) if name in proposal.model_fields_set]
    if barred:
        raise InputError(
            "is not to be proposed", path="the proposal", field=barred[0],
            allowed="a design without it", code="unknown-field",
        )  # fmt: skip
    if not forbidden_keys and not proposal.model_fields_set - {"wishes_left"}:
        raise InputError(
            "has no keys", path="the proposal", allowed="users or questions", code="missing-field"
        )
    return proposal


def list_documents(titles_by_file: Mapping[str, Sequence[str]]) -> str:
    """List documents for an LLM, one line per file: name, number of passages, headings.

    Long lines are cut, and of very many documents some are drawn.

    Args:
        titles_by_file: name of a file to the titles of its passages.
    """
    longest = max(_SHORTEST_LINE, _LISTED // len(titles_by_file))
    shown = sample_ids(list(titles_by_file), _LISTED // longest, 0, "listed documents")
    lines = []
    for file in shown:
        titles = titles_by_file[file]
        headings = dict.fromkeys(part for title in titles for part in title.split(" > ") if part)
        line = f"{file}, {count_text(len(titles), 'passage')}: {'; '.join(headings)}"
        lines.append(line if len(line) <= longest else f"{line[: longest - 1]}…")
    if (n_left := len(titles_by_file) - len(shown)) > 0:
        lines.append(f"and {count_text(n_left, 'other document')}")
    return "\n".join(lines)


@contextmanager
def _opened_documents(recipe: DocumentsRecipe, run: RunOptions) -> Iterator[PassagePool]:
    """Read the documents of a recipe to temporary files for the ``with`` block."""
    with TemporaryDirectory(prefix="citeforge-") as scratch:
        planned = run.model_copy(
            update={"out": Path(scratch) / "plan", "overwrite": False, "resume": False}
        )
        with open_build(recipe, planned) as build:
            source = open_documents(recipe, build.workspace.stage("archives"))
            _, corpus, _ = read_documents(recipe, source, build.workspace)
            yield PassagePool(corpus, recipe.seed)
            build.workspace.package_folder.mkdir(exist_ok=True)


def _read_brief(recipe: DocumentsRecipe) -> Design:
    """Read the user's question settings (design); refuse them without a brief for the LLM.

    Raises:
        InputError: the design is at fault.
        UsageError: it has no brief.
    """
    given = recipe.read_design()
    if not (given.brief or "").strip():
        raise UsageError(
            "--plan-only: requires --design FILE.yaml with what you want in a sentence "
            '(brief: "…")',
            code="missing-option",
        )
    return given


def _make_writer(llm: Llm, user_design: Design, passages: PassagePool) -> DesignWriter:
    """Make the object that asks an LLM for question settings (design), from the user's own."""
    listing = list_documents(passages.titles_by_file())
    fixed = sorted(user_design.model_fields_set - {*_OF_PEOPLE})
    return DesignWriter(llm, (user_design.brief or "").strip(), listing, fixed)


def _join_designs(user_design: Design, proposal: Proposal) -> dict[str, Any]:
    """Merge the keys of a user's question settings (design) with those that an LLM proposed."""
    proposed = proposal.model_dump(mode="json", exclude_unset=True, exclude={"wishes_left"})
    return user_design.model_dump(mode="json", exclude_unset=True) | proposed


def plan_proposal(recipe: DocumentsRecipe, run: RunOptions) -> RunPlan:
    """Plan the LLM calls by which question settings (design) are proposed; ask nothing.

    Raises:
        InputError: the design or the documents are at fault.
        UsageError: there is no brief, or the LLM is not asked over a network.
    """
    recipe, given = recipe.with_design_inputs(), _read_brief(recipe)
    llm = llm_for_dry_run(recipe.writer, run, replay_path(run, recipe.writer))
    with _opened_documents(recipe, run) as passages:
        first, *further = _make_writer(llm, given, passages).requests()
    return llm.plan([first], further)


def propose_design(
    recipe: DocumentsRecipe, run: RunOptions, llm: Llm | None = None
) -> ProposedDesign:
    """Have an LLM propose question settings (design), and write them to a file to be edited.

    Keys that the user's design has stay as they are. Wishes that no key can express become comments
    of the file.

    Args:
        recipe: names the documents, the LLM, and a design with a brief.
        run: file to write, and how the endpoint is reached.
        llm: model that is asked; None for the recipe's.

    Raises:
        InputError: the design, the documents or the replies are at fault, or the file is there
            already, which users may have edited.
        UsageError: there is no brief.
    """
    if run.out is None:
        raise UsageError("--plan-only: requires --out FILE.yaml", code="missing-option")
    require_writable(run.out)
    if run.out.exists() and not run.overwrite:
        raise InputError(
            "is there already, perhaps with edits", path=run.out,
            allowed="another --out, or --overwrite", code="output-exists",
        )  # fmt: skip
    recipe, given = recipe.with_design_inputs(), _read_brief(recipe)
    if llm is None:
        store = replay_store(run, recipe.writer)
        llm = make_llm(recipe.writer, store=store, options=run)
    require_askable(llm)
    with _opened_documents(recipe, run) as passages:

        def check(proposal: Proposal) -> None:
            """Raise if proposed question settings conflict with the user's, or a topic is empty."""
            content = _join_designs(given, proposal)
            design = validated(Design, content, Path("the proposal"))
            read_topics(recipe.model_copy(update={"design": content}), design.topics, passages)

        proposal = _make_writer(llm, given, passages).propose(check)
    name = str(llm.identity()["name"])
    if run.out.parent.resolve() != Path.cwd():  # paths of a design start at its folder
        given = given.resolve_paths(Path.cwd())
    write_text(run.out, _design_text(given, proposal, name))
    return ProposedDesign(run.out, name, proposal.wishes_left)


def _design_text(user_design: Design, proposal: Proposal, llm: str) -> str:
    """Write proposed question settings (design) as YAML, below comments on their origin."""
    lines = [f"Proposed by {llm} of the brief below. Edit it, then build with --design."]
    if proposal.wishes_left:
        lines += ["No key of a design can express:"]
        lines += [f"- {' '.join(wish.split())}" for wish in proposal.wishes_left]
    comments = "".join(f"# {line}\n" for line in lines)
    content = _join_designs(user_design, proposal)
    return comments + yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)
