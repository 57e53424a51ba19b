"""``labels propose nuggets``: an LLM lists the facts that good answers have, for people to edit.

Two steps, as AutoNuggetizer has them (Pradeep et al. 2024): a query's list of nuggets grows over
windows of its relevant passages; then each nugget is called vital or okay. The sheet is read by
``score --assessments``.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from citeforge.builders.derive import Base
from citeforge.builders.writer_prompts import WriterPrompt
from citeforge.engines.files import require_writable, write_text
from citeforge.engines.folders import path_beside
from citeforge.engines.llm.budget import RunPlan
from citeforge.engines.llm.records import Llm, LlmReply, Request, json_format
from citeforge.engines.llm.writers import OpenAiLlm
from citeforge.engines.report_table import Table
from citeforge.engines.running.names import llm_for_dry_run, make_llm
from citeforge.engines.running.setup import replay_path, replay_store
from citeforge.engines.tables import rows_of
from citeforge.engines.text.short_replies import json_objects
from citeforge.package.manifest import pretty_json
from citeforge.plugins.labels.options import NuggetOptions
from citeforge.schemas.errors import InputError
from citeforge.schemas.nuggets import KEEP, NUGGET, NUGGET_IMPORTANCE, OKAY, QUERY, VITAL, YES
from citeforge.schemas.recipes.base import RunOptions

COLUMNS = (QUERY, "question", NUGGET, NUGGET_IMPORTANCE, KEEP)
"""Columns of a sheet of nuggets."""
_FOLDER = Path(__file__).parent / "data"
_WINDOW = 10
"""Passages of a request, and nuggets that are weighed together (AutoNuggetizer)."""
_MOST_LISTED = 30
"""Largest number of nuggets in a list that grows (AutoNuggetizer)."""
_TRIES = 3
_UNREADABLE = f"no list in {_TRIES} replies"
_LIST_TOKENS, _IMPORTANCE_TOKENS = 1024, 128
_USUAL_NUGGETS, _USUAL_NUGGET = 10, 60
"""Number of a query's nuggets and characters of one, for estimates."""
_LISTED, _WEIGHED = "nuggets", "importance"
"""Tasks, names of their templates, and fields of their replies."""


@dataclass(frozen=True)
class Nugget:
    """A fact that a good answer has.

    Attributes:
        text: the fact.
        importance: ``vital`` or ``okay``.
    """

    text: str
    importance: str


@dataclass
class Topic:
    """A query, its relevant passages, and the nuggets found so far.

    Attributes:
        query_id: id of the query.
        question: text of the query.
        passages: (title, text) of its relevant passages, in the order of the mapping.
        texts: nuggets listed so far, the most important one first.
        weights: importance of the first nuggets.
        failure: why the LLM gave no list or no importance; empty if it did.
    """

    query_id: str
    question: str
    passages: list[tuple[str, str]]
    texts: list[str] = field(default_factory=list)
    weights: list[str] = field(default_factory=list)
    failure: str = ""

    def choose(self, most: int) -> list[Nugget]:
        """List a query's nuggets, vital ones first, at most ``most``; none if the LLM failed."""
        found = [] if self.failure else list(map(Nugget, self.texts, self.weights))
        return sorted(found, key=lambda nugget: nugget.importance != VITAL)[:most]


def read_topics(folder: Path, limit: int | None) -> list[Topic]:
    """Read a package's first queries that have relevant passages, at most ``limit``.

    Raises:
        InputError: the package has no relevant passages.
    """
    base = Base(folder)
    with_passages = [q for q in base.query_ids if base.relevant.get(q)][:limit]
    if not with_passages:
        raise InputError(
            "has no relevant passages, of which nuggets are made", path=folder,
            allowed="a benchmark of passages with its labels", code="no-relevant",
        )  # fmt: skip
    texts = base.texts(sorted({p for q in with_passages for p in base.relevant[q]}))
    questions = dict(rows_of(base.queries, "_id", "text"))
    return [
        Topic(query, questions[query], [texts[p] for p in base.relevant[query]])
        for query in with_passages
    ]


class NuggetWriter:
    """Asks an LLM for nuggets and their importance, for all queries at once.

    Attributes:
        llm: model that is asked.
        prompts: name of each template to the digest of its text.
    """

    def __init__(self, llm: Llm) -> None:
        """Read the prompt templates that ask for nuggets and for their importance."""
        self.llm = llm
        self._templates = {name: WriterPrompt(name, _FOLDER) for name in (_LISTED, _WEIGHED)}
        self.prompts = {name: template.sha256 for name, template in self._templates.items()}

    def find(self, topics: Sequence[Topic]) -> None:
        """Let the LLM list each topic's nuggets and their importance; store them in the topics."""
        for start in range(0, max(len(t.passages) for t in topics), _WINDOW):
            some = [t for t in topics if t.passages[start:]]
            self._ask_about(some, partial(self.make_list_request, start=start), _store_nuggets)
        for start in range(0, _MOST_LISTED, _WINDOW):
            some = [t for t in topics if t.texts[start:]]
            self._ask_about(
                some, partial(self.make_importance_request, start=start), _store_importance
            )

    def plan(self, topics: Sequence[Topic]) -> RunPlan:
        """Estimate number and cost of the LLM calls that finding nuggets of topics takes.

        Lists of nuggets of the usual length are assumed.

        Args:
            topics: queries with passages; their lists are replaced.
        """
        assert isinstance(self.llm, OpenAiLlm)
        requests = []
        for topic in topics:
            for start in range(0, len(topic.passages), _WINDOW):
                requests.append(self.make_list_request(topic, start))
                topic.texts = [
                    f"{topic.query_id} {n}".ljust(_USUAL_NUGGET, "?")
                    for n in range(min(start + _WINDOW, _USUAL_NUGGETS))
                ]
            requests.append(self.make_importance_request(topic, 0))
        further = [r for topic in topics for r in self._make_further_requests(topic)]
        return self.llm.plan(requests, further, _TRIES)

    def _make_further_requests(self, topic: Topic) -> Iterator[Request]:
        """Make the further requests for importance that a list longer than usual takes, to plan."""
        texts = [f"{topic.query_id} {n}".ljust(_USUAL_NUGGET, "?") for n in range(_MOST_LISTED)]
        long = Topic(topic.query_id, topic.question, [], texts)
        return (
            self.make_importance_request(long, n) for n in range(_WINDOW, _MOST_LISTED, _WINDOW)
        )

    def make_list_request(self, topic: Topic, start: int) -> Request:
        """Make the request to extend a topic's nuggets by ten passages, from a position."""
        window = topic.passages[start : start + _WINDOW]
        passages = [{"title": title, "text": text} for title, text in window]
        values = {
            "question": topic.question, "nuggets": topic.texts, "passages": passages,
            "most": _MOST_LISTED,
        }  # fmt: skip
        return self._request(_LISTED, values, _LIST_TOKENS, {"type": "string"})

    def make_importance_request(self, topic: Topic, start: int) -> Request:
        """Make the request for the importance of ten of a topic's nuggets, from a position."""
        values = {"question": topic.question, "nuggets": topic.texts[start : start + _WINDOW]}
        item = {"type": "string", "enum": [VITAL, OKAY]}
        return self._request(_WEIGHED, values, _IMPORTANCE_TOKENS, item)

    def _request(
        self,
        task: str,
        template_values: Mapping[str, object],
        most_tokens: int,
        item: dict[str, Any],
    ) -> Request:
        """Make an LLM request whose reply is a JSON list of items (schema ``item``)."""
        reply = json_format(task, {task: {"type": "array", "items": item}})
        params = {"temperature": 0.0, "max_tokens": most_tokens, "response_format": reply}
        return self._templates[task].request(template_values, params)

    def _ask_about(
        self,
        topics: Sequence[Topic],
        make_request: Callable[[Topic], Request],
        store_reply: Callable[[Topic, Request, str], bool],
    ) -> None:
        """Send a request per topic, store the replies, and ask again after unreadable ones.

        Args:
            topics: topics; those with a failure are skipped.
            make_request: makes the request about a topic.
            store_reply: stores a reply in a topic; returns whether it could be read.
        """
        still = [(t, make_request(t)) for t in topics if not t.failure]
        for attempt in range(_TRIES):
            again = []
            asked = [_copy_as_attempt(request, attempt) for _, request in still]
            for (topic, request), result in zip(still, self.llm.complete(asked), strict=True):
                if not isinstance(result, LlmReply):
                    topic.failure = f"{result.reason}: {result.message}"
                elif not store_reply(topic, request, result.text):
                    topic.failure = f"{_UNREADABLE}; the last: {result.text[:80]!r}"
                    again.append((topic, request))
            if attempt < _TRIES - 1:
                for topic, _ in again:
                    topic.failure = ""
            still = again


def _copy_as_attempt(request: Request, attempt: int) -> Request:
    """Copy an LLM request as another attempt, whose reply is stored apart."""
    return Request(request.messages, request.params, attempt, request.task, request.values)


def _store_nuggets(topic: Topic, request: Request, reply: str) -> bool:
    """Replace a topic's nuggets by those of an LLM's reply; return whether it lists any."""
    texts = _read_list(reply, _LISTED)
    if texts is None:
        return False
    lines = (" ".join(text.split()) for text in texts)
    listed = list(dict.fromkeys(filter(None, lines)))
    topic.texts = listed[:_MOST_LISTED] or topic.texts  # no news is no reason to drop the others
    return True


def _store_importance(topic: Topic, request: Request, reply: str) -> bool:
    """Add nuggets' importance from an LLM's reply to a topic; False if any has none."""
    words = [word.strip().lower() for word in _read_list(reply, _WEIGHED) or ()]
    nuggets: Any = request.values["nuggets"]
    if len(words) != len(nuggets) or not {VITAL, OKAY}.issuperset(words):
        return False
    topic.weights += words
    return True


def _read_list(reply: str, field: str) -> list[str] | None:
    """Read a list of texts from a field of the last JSON object in an LLM's reply, or None."""
    found = None
    for row in json_objects(reply):
        value = row.get(field)
        if isinstance(value, list) and all(isinstance(one, str) for one in value):
            found = value
    return found


@dataclass(frozen=True)
class ProposedNuggets:
    """Counts of a finished sheet of nuggets.

    Attributes:
        n_nuggets: rows of the sheet.
        n_queries: queries with at least one.
        failures: query without a list to the reason.
    """

    n_nuggets: int
    n_queries: int
    failures: dict[str, str]

    def describe_failures(self) -> str:
        """Describe how many queries have no nuggets, why the first has none, and what helps."""
        query, reason = next(iter(self.failures.items()))
        advice = (
            "take another --llm" if reason.startswith(_UNREADABLE)
            else "run again with another --out and --store"
        )  # fmt: skip
        return (
            f"{len(self.failures):,} queries have no nuggets (first: {query}: {reason}); {advice}"
        )


def plan_nuggets(folder: Path, options: NuggetOptions, run: RunOptions) -> RunPlan:
    """Estimate number and cost of the LLM calls of :func:`propose_nuggets`, without any call.

    Raises:
        UsageError: the LLM is not asked over a network.
    """
    llm = llm_for_dry_run(options.llm, run, replay_path(run, options.llm))
    return NuggetWriter(llm).plan(read_topics(folder, options.limit))


def propose_nuggets(folder: Path, options: NuggetOptions, run: RunOptions) -> ProposedNuggets:
    """Let an LLM list queries' nuggets, and write them as a CSV sheet for annotators.

    ``OUT.about.json`` beside the sheet (``run.out``) has the model, the prompts, the
    benchmark and the failures.

    Args:
        folder: package whose relevant passages are read.
        options: the LLM, and numbers of nuggets and queries.
        run: file to write, and how the endpoint is reached.

    Raises:
        InputError: the package has no relevant passages, or the file is there already, which people
            may have edited.
    """
    require_writable(run.folder)
    if run.folder.exists():
        raise InputError(
            "is there already, perhaps with people's edits", path=run.folder,
            allowed="another --out; --store with its FILE.replay.db pays for nothing twice",
            code="output-exists",
        )  # fmt: skip
    topics = read_topics(folder, options.limit)
    llm = make_llm(options.llm, store=replay_store(run, options.llm), options=run)
    writer = NuggetWriter(llm)
    writer.find(topics)
    chosen = {topic.query_id: topic.choose(options.most) for topic in topics}
    rows = [
        [topic.query_id, topic.question, nugget.text, nugget.importance, YES]
        for topic in topics
        for nugget in chosen[topic.query_id]
    ]
    write_text(run.folder, Table(COLUMNS, rows).csv())
    failures = {topic.query_id: topic.failure for topic in topics if topic.failure}
    package = Base(folder)
    origin = {
        "benchmark": package.manifest.name, "benchmark_hash": package.hash,
        "llm": llm.identity(), "prompts": writer.prompts, "failures": failures,
        "without_nuggets": [q for q, some in chosen.items() if not some and q not in failures],
    }  # fmt: skip
    write_text(path_beside(run.folder, ".about.json"), pretty_json(origin))
    return ProposedNuggets(len(rows), sum(map(bool, chosen.values())), failures)
