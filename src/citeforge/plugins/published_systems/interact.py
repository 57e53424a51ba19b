"""``interact`` and ``inline-search``: a model writes its answer in steps (ALCE, section 3.1)."""

import re
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import chain
from typing import Any, Literal

from citeforge.builders.prompts import PromptDoc
from citeforge.engines.llm.records import LlmReply, Request
from citeforge.engines.models.embedder import Embedder
from citeforge.engines.retrieval.bm25 import Bm25
from citeforge.engines.running.names import make_embedder
from citeforge.package.items import Item, Passage
from citeforge.plugins.published_systems.alce_options import InteractOptions, SearchOptions
from citeforge.plugins.published_systems.alce_prompts import make_condenser, make_examples
from citeforge.plugins.published_systems.demonstrations import Demonstration, ExampleSentence
from citeforge.systems.prompts import WindowError
from citeforge.systems.system import MakeSteps, Reply, Setting, Steps, Task

FindPassage = Callable[[str], str | None]
"""Maps the words of a search to the id of the best passage; None if none fits."""


def make_bm25_search(ids: Sequence[str], texts: Sequence[str]) -> FindPassage:
    """Make the function that finds the passage (id) with the highest BM25 score for a query."""
    index = Bm25(ids, texts)
    return lambda words: next((r.docid for r in index.rank({"": words}, 1)[""]), None)


def make_vector_search(ids: Sequence[str], texts: Sequence[str], embedder: Embedder) -> FindPassage:
    """Make the function that finds the passage (id) with the highest cosine to a query.

    Args:
        ids: ids of passages.
        texts: their texts.
        embedder: compares texts.

    Returns:
        Function from words to the id of a passage; None without passages.
    """
    order = sorted(range(len(ids)), key=lambda row: ids[row])
    passages = embedder.encode(list(texts), "passage").astype("float64")[order]

    def find(query_text: str) -> str | None:
        """Find the id of the passage with the highest cosine to a text; None without passages."""
        cosines = passages @ embedder.encode([query_text], "query")[0]
        return ids[order[int(cosines.round(6).argmax())]] if order else None

    return find


@dataclass
class CandidateSearch:
    """Candidate passages of one query, a search among them, and the passages found so far.

    Attributes:
        passages: candidates by their ids.
        find: finds the best candidate.
        shown: passages found by searches, in the order of their first finding; citations
            number them.
    """

    passages: dict[str, Passage]
    find: FindPassage
    shown: list[Passage] = field(default_factory=list)

    def search(self, query_text: str) -> int | None:
        """Find the best passage for a text; add it to those shown: its index there, or None."""
        name = self.find(query_text)
        if name is None:
            return None
        if self.passages[name] not in self.shown:
            self.shown.append(self.passages[name])
        return self.shown.index(self.passages[name])


def make_candidate_searches(setting: Setting[SearchOptions]) -> Callable[[Item], CandidateSearch]:
    """Make the function that opens a search among the candidate passages of an item's query.

    Candidates are those of the package, else the best passages of its corpus by BM25.
    """
    benchmark, o = setting.benchmark, setting.options
    if "candidates" in benchmark.splits:
        ranked = benchmark.candidates()
    else:
        texts_of = zip(benchmark.query_ids, benchmark.questions(setting.context), strict=True)
        ranked = Bm25.from_corpus(benchmark.corpus).rank(dict(texts_of), o.depth)
    ids_of = {query: [r.docid for r in rows[: o.depth]] for query, rows in ranked.items()}
    texts = benchmark.texts({name for ids in ids_of.values() for name in ids})
    embedder = make_embedder(o.embedder) if o.retriever == "dense" else None

    @cache
    def index(query: str) -> FindPassage:
        """Index a query's candidate passages; return its search function."""
        ids = ids_of[query]
        words = [" ".join(texts[name]).strip() for name in ids]
        if embedder is None:
            return make_bm25_search(ids, words)
        return make_vector_search(ids, words, embedder)

    def start(query_item: Item) -> CandidateSearch:
        """Open a search among the candidate passages of a query."""
        passages = {name: Passage(name, *texts[name]) for name in ids_of[query_item.query_id]}
        return CandidateSearch(passages, index(query_item.query_id))

    return start


Verb = Literal["check", "search", "output", "end", "other"]

_VERB = re.compile(r"\W{0,3}(check|search|output|end)\b[\s*_]*:?[\s*_]*", re.IGNORECASE)
_NUMBER = re.compile(r"\[\s*(\d{1,9})")
_NAMED = re.compile(r"\W{0,9}documents?:? ?(?:\[\d{1,9}\](?:[ ,&.*]|and\b)*)+", re.IGNORECASE)
_ABSTAINS = re.compile(
    r"sorry\b.*\brelevant (?:document|information)|none of the documents", re.IGNORECASE
)


@dataclass(frozen=True)
class Action:
    """One step of a model that writes an answer step by step.

    Attributes:
        verb: kind of step; ``other`` where the reply is no step.
        text: sentence of the answer, words to search for, or documents to check.
        line: the step as the next prompt shows it.
    """

    verb: Verb
    text: str
    line: str

    @property
    def numbers(self) -> list[int]:
        """Distinct document numbers in the model's step, such as ``[2]``, in order."""
        return [int(n) for n in dict.fromkeys(_NUMBER.findall(self.text))]


def read_action(reply: str, must_answer: bool = False, allows_unnamed: bool = False) -> Action:
    """Parse a reply's first line as action: check, search, output, end, other; unnamed ones too.

    Args:
        reply: text of the model's reply.
        must_answer: whether the prompt ended with ``Output:``, so that the reply is a sentence.
        allows_unnamed: whether a line that names no step counts as a sentence, or as a check where
            it only names documents, as small models write.
    """
    line = next((x.strip() for x in reply.splitlines() if x.strip()), "")
    match = _VERB.match(line)
    verb = match[1].lower() if match else None
    rest = line[match.end() :].strip() if match else line
    if verb == "end" and rest.strip(" .!*_"):
        verb, rest = None, line  # a sentence that happens to begin so
    if allows_unnamed and not must_answer and verb is None and _NAMED.fullmatch(line):
        return Action("check", line, f"Check: {line}")
    if (must_answer and verb in (None, "output")) or (allows_unnamed and verb is None):
        if _ABSTAINS.search(line) or not rest:
            return Action("end" if not rest else "other", "", line)
        return Action("output", rest, f"Output: {rest}")
    if verb is None or _ABSTAINS.search(line):
        return Action("other", "", line)
    if verb == "end":
        return Action("end", "", "End")
    text = f"{verb.capitalize()}: {rest}"
    return Action(verb, rest, text)  # type: ignore[arg-type]


Show = Callable[[Action], list[PromptDoc]]
"""Returns the documents that the next step's prompt shows, for a check or a search."""
_MOST_SHOWN = 3
"""Documents that one check shows (ALCE, appendix C)."""


@dataclass
class StepwiseAnswer:
    """An answer that a model writes step by step, so far.

    Attributes:
        steps: steps so far, as prompts show them.
        sentences: sentences of the answer so far.
        last: latest reply of the model.
    """

    steps: list[str] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)
    last: LlmReply | None = None

    def reply(self, **more: Any) -> Reply:
        """Make the system's reply from the sentences so far, truncated if the last step was."""
        reason = None if self.last is None else self.last.finish_reason
        return Reply(" ".join(self.sentences), reason, meta={"steps": self.steps}, **more)


def ask_steps(
    setting: Setting[Any],
    task: Task,
    step_name: str,
    get_documents: Show,
    write_prompt: Callable[[Sequence[str], Sequence[PromptDoc], bool], str],
) -> Generator[Sequence[Request], Sequence[LlmReply], StepwiseAnswer]:
    """Let an LLM answer in steps; after a check or search, show documents in the next prompt.

    What a check or search shows is seen by the next step alone, which must put something out
    (ALCE, appendix C). A step that repeats the one before it ends the answer: the prompt would
    lead to it again.

    Args:
        setting: setting of the system; its options limit the turns.
        task: the query.
        step_name: the step that shows documents: ``check`` or ``search``.
        get_documents: returns the documents of such a step.
        write_prompt: writes a prompt of (steps so far, documents to show, whether a sentence must
            follow).
    """
    answer, docs, must_answer = StepwiseAnswer(), list[PromptDoc](), False
    for _ in range(setting.options.turns):
        try:
            text = write_prompt(answer.steps, docs, must_answer)
        except WindowError:
            if not answer.steps:
                raise
            setting.counts["answers_that_outgrew_the_window"] += 1
            return answer
        (answer.last,) = yield [setting.request(text, task, stop=["\n"])]
        action = read_action(answer.last.text, must_answer, setting.options.bare)
        docs, must_answer = [], False
        if action.verb == "end":
            return answer
        if action.verb not in ("output", step_name):
            setting.counts["answers_that_ended_without_a_step"] += 1
            return answer
        if answer.steps and action.line == answer.steps[-1]:
            setting.counts["answers_that_ended_with_a_repeated_step"] += 1
            return answer
        answer.steps.append(action.line)
        if action.verb == "output":
            answer.sentences.append(action.text)
        else:
            docs, must_answer = get_documents(action), True
    setting.counts["answers_without_an_end"] += 1
    return answer


def _make_renderer(setting: Setting[Any], template: str) -> Callable[..., str]:
    """Make the function that fills in a system's prompt template; fields not passed are empty."""
    defaults: dict[str, Any] = {"demos": (), "steps": (), "open": (), "forced": False}
    return partial(setting.render, template, base=setting.base, **defaults)


def _to_steps(
    demo: Demonstration, first_number: int, write_step_before: Callable[[ExampleSentence], str]
) -> list[str]:
    """Write a few-shot example's answer as steps; ``write_step_before`` precedes each sentence."""
    steps = (
        (write_step_before(s), f"Output: {s.renumber_citations(first_number)}") for s in demo.answer
    )
    return [*filter(None, chain.from_iterable(steps)), "End"]


def interact(setting: Setting[InteractOptions]) -> MakeSteps:
    """Make ALCE's Interact system: an LLM sees short passages and may check full ones.

    It may check three passages at a time.
    """
    o, base = setting.options, setting.base
    condensed = make_condenser(setting, o.show, o.k)
    fill = _make_renderer(setting, "interact")

    def check(sentence: ExampleSentence) -> str:
        """Write an example's step that checks the documents its sentence cites; empty for none."""
        marks = "".join(f"[{n - 1 + base}]" for n in sentence.cited)
        return f"Check: Document {marks}" if marks else ""

    def example(demo: Demonstration) -> str:
        """Write a few-shot example with the steps that check documents."""
        docs = demo.docs(o.k, base, use_summaries=True)
        return fill(query=demo.question, docs=docs, steps=_to_steps(demo, base, check))

    examples = make_examples(setting, example)  # type: ignore[arg-type]

    def steps(task: Task) -> Steps:
        """Condense a query's passages, then let the LLM answer step by step."""
        full = {doc.number: doc for doc in setting.docs(task.item)}
        short = yield from condensed(task)

        def show(action: Action) -> list[PromptDoc]:
            """Get the full texts of the documents that the model wants to check."""
            numbers = {d.number for d in short}
            setting.counts["invented_document_numbers"] += len(set(action.numbers) - numbers)
            return [full[n] for n in action.numbers if n in numbers][:_MOST_SHOWN]

        def prompt(
            previous_steps: Sequence[str], shown: Sequence[PromptDoc], must_answer: bool
        ) -> str:
            """Write the prompt for the next step, with the steps so far and the texts they showed.

            With ``must_answer`` the model must answer now.
            """
            more = {
                "demos": examples(task.run),
                "steps": previous_steps,
                "open": shown,
                "forced": must_answer,
            }
            query = task.item.query
            return setting.fit_items(task, short, lambda some: fill(query=query, docs=some, **more))

        answer = yield from ask_steps(setting, task, "check", show, prompt)
        return answer.reply()

    return steps


def inline_search(setting: Setting[SearchOptions]) -> MakeSteps:
    """Make ALCE's InlineSearch system: an LLM sees only passages that it searches for."""
    base, start_search = setting.base, make_candidate_searches(setting)
    fill = _make_renderer(setting, "inline_search")

    def example(demo: Demonstration) -> str:
        """Write a few-shot example with its search steps."""
        # What a search shows is gone from the prompt by the next step.
        steps = _to_steps(demo, base, lambda s: f"Search: {s.search}" if s.search else "")
        return fill(query=demo.question, steps=steps)

    examples = make_examples(setting, example)  # type: ignore[arg-type]

    def steps(task: Task) -> Steps:
        """Let the LLM answer a query step by step; each of its searches shows a passage."""
        candidates = start_search(task.item)

        def show(action: Action) -> list[PromptDoc]:
            """Search the query's candidates: the best passage, or an empty list."""
            index = candidates.search(action.text)
            setting.counts["searches_that_found_nothing"] += index is None
            if index is None:
                return []
            return [setting.docs(task.item, candidates.shown)[index]]

        def prompt(
            previous_steps: Sequence[str], shown: Sequence[PromptDoc], must_answer: bool
        ) -> str:
            """Write the prompt for the next step, with the steps so far and the texts they showed.

            With ``must_answer`` the model must answer now.
            """
            more = {"demos": examples(task.run), "steps": previous_steps, "forced": must_answer}
            query = task.item.query
            return setting.fit_items(task, shown, lambda some: fill(query=query, open=some, **more))

        answer = yield from ask_steps(setting, task, "search", show, prompt)
        return answer.reply(passages=tuple(candidates.shown))

    return steps
