"""CiteEval: an LLM edits and rates the citations of each statement that needs or has some.

## citeeval

Xu et al. 2025 (CiteEval, arXiv 2506.01829), section 4, with one LLM (`--llm`) as all three of its
modules; `reference`: their `CiteEval-Auto`. For each answer the LLM is asked twice. *Context
attribution*: where does each uncited statement come from: the question, the passages, the
statements before it, or the model? Only one of the passages needs a citation. *Editing and
rating*: which citations would it delete and add, and why, so that each cited statement has the most
helpful ones, and how good are those that there are, from 1 to 5? The rating `r` of a cited
statement is (rating − 1)/4, and that of an uncited one of the passages 0; others have none.

`CiteEval.Edits` rates a cited statement by its edits instead: `e` is the mean rating of its
citations and of those to be added, less 0.01, and 1 without an edit. A citation that is kept has 1,
a deleted one that is off topic 0.07, weaker than another 0.80, needless 0.53, an added one that
brings missing evidence 0, is better than another 0.02, supports more 0.43 (to more digits: the
authors fitted them to marks of people). `CiteEval.Both` is the mean of both, which the authors
report of systems.

A reply without a statement's verdict leaves its rating between 0 and 1. In `strict` the prompts are
our own, a citation of no passage is deleted as off topic, and an answer of which nothing needs a
citation leaves: it is not known to cite well.

`reference` sends the authors' prompts to the letter, which `--wordings` brings as
`citeeval_attribution` and `citeeval_rating` (`final_prompt` of `citeeval_ca.cfg` and
`citeeval_ce_cr_simplified_cot.cfg`), and as `citeeval_no_answer` the sentence that their code puts
in place of an answer that says it has none. A cited statement without a rating has 1 there, an
uncited one without a category 0, and an answer of which nothing counts 1. Their code reads each
citation one too high before it looks for its edits. Their code prints the
mean over statements twice, also as that over answers; so `reference` weighs each answer by its
number of statements.

*Example.* S1 cites, rated 4; S2 cites nothing and is from the passages; S3 repeats the question; S4
cites, rated 1, its only citation being off topic. Full = (3/4 + 0 + 0)/3 = 1/4, Cited = (3/4 + 0)/2
= 3/8; Edits.Cited = (1 + 0.0585)/2 with 0.0694 − 0.0109 = 0.0585.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from citeforge.engines.files import digest
from citeforge.engines.llm.records import Failure, Request, json_format, signature_name
from citeforge.engines.text.quoting import Quotes
from citeforge.engines.text.short_replies import json_objects
from citeforge.evaluator.measures.declared import CitationQuality, Measure, per_submission
from citeforge.evaluator.measures.handed import Answer, Answers
from citeforge.evaluator.measures.judging import premise_text
from citeforge.evaluator.measures.values import NOTHING, ByAnswer, Value
from citeforge.evaluator.statements.strict import CitedStatement
from citeforge.evaluator.statistics.estimates import Sample
from citeforge.evaluator.submissions.inputs import AnswerKey
from citeforge.evaluator.submissions.tools import CannotError, Need, ScoringTools
from citeforge.package.items import Passage
from citeforge.plugins.published_measures.citeeval_edits import (
    REASONS,
    Edit,
    rate_edits,
    read_edits,
    read_verdict,
)
from citeforge.plugins.published_measures.citeeval_reference import (
    Sentence,
    fill_prompt,
    rate_edited,
    rate_sentences,
    read_categories,
    read_ratings,
    read_sentences,
)
from citeforge.schemas.citations.grammar import read_number

SOURCE = "Xu et al. 2025 (CiteEval), section 4"
ATTRIBUTION, RATING = "citeeval_attribution", "citeeval_rating"
"""Names of the authors' prompts in a file of wordings."""
NO_ANSWER = "citeeval_no_answer"
"""Name of the sentence that stands for an answer that says it has none."""
_OPEN, _BEST = Value(0.0, 1.0), Value.exact(1.0)
PASSAGES = "passages"
_SOURCES = ("question", PASSAGES, "before", "model")
_ASK_SOURCE = (
    "You see a question, passages and the numbered statements of an answer. Say of each of the "
    'statements {numbers} where it comes from. "passages": a passage says it, at least in part. '
    '"question": it repeats the question and adds no fact. "before": it follows from statements '
    'before it alone, or says that there is no answer. "model": neither the question nor the '
    "passages nor the statements before it say it; also words that only link or close. Where "
    '"passages" is true, choose it. Reply with JSON, a member for each number: {example}.\n\n'
    "Question:\n{question}\n\nPassages:\n{passages}\n\nStatements:\n{statements}\n\n{note} Where "
    "does each of the statements {numbers} come from? Reply with JSON: {example}."
)
_ASK_RATING = (
    "You see a question, numbered passages, and the numbered statements of an answer with the "
    "passages that each cites. For each of the statements {numbers}, first list the citations to "
    'delete ("off-topic": the passage does not help; "weaker": another helps more; "needless": the '
    'others suffice), and the passages to add ("evidence": part of the statement is without '
    'evidence; "better": it helps more than one to delete; "support": one more would make it more '
    "credible); change no more than is needed. Then rate the citations "
    "as they are: 5: complete and exact, nothing to change; 4: one small thing missing or too "
    "much; 3: noticeable gaps, or several needless citations; 2: main points without evidence, or "
    "mostly wrong citations; 1: no support at all, or misleading. Reply with JSON, a member for "
    "each number: {example}.\n\nQuestion:\n{question}\n\nPassages:\n{passages}\n\nStatements:\n"
    "{statements}\n\n{note} Edit and rate the citations of the statements {numbers}. Reply with "
    "JSON: {example}."
)
_TOKENS = 120
"""Most tokens of a verdict on one statement."""
_SOURCE_FORM = {"type": "string", "enum": list(_SOURCES)}


def _make_object(**properties: object) -> dict[str, object]:
    """Make the JSON schema of an object that has exactly the given properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }


def _make_list(action: str) -> dict[str, object]:
    """Make the JSON schema of a list of citation edits: ``action`` is delete or add."""
    reason = {"type": "string", "enum": [*REASONS[action]]}
    return {"type": "array", "items": _make_object(passage={"type": "integer"}, why=reason)}


_RATING_FORM = _make_object(
    delete=_make_list("delete"),
    add=_make_list("add"),
    rating={"type": "integer", "enum": [1, 2, 3, 4, 5]},
)
_VALUES = {str(rating): Value.exact((rating - 1) / 4) for rating in range(1, 6)}
"""Rating, as it is written, to the value of a statement."""


@dataclass(frozen=True)
class Ratings:
    """Mean ratings of one answer's citations, from 0 to 1.

    Attributes:
        full: over statements that need or have a citation; None where there is none.
        cited: over statements that have one; None where none needs one.
    """

    full: Value | None
    cited: Value | None


@dataclass(frozen=True)
class RatedAnswer:
    """Mean ratings of one answer by the LLM's verdicts.

    Attributes:
        marks: by its ratings from 1 to 5.
        edits: by the edits that it wants.
        weight: number of statements, by which ``reference`` weighs answers; None in ``strict``.
    """

    marks: Ratings
    edits: Ratings
    weight: int | None = None

    @property
    def both(self) -> Ratings:
        """Mean of an answer's two ratings: by its citation marks, and by an LLM's edits."""
        marks, edits = self.marks, self.edits
        return Ratings(
            _average_both(marks.full, edits.full), _average_both(marks.cited, edits.cited)
        )


def _average_both(first: Value | None, second: Value | None) -> Value | None:
    """Average two values; None if one is None."""
    return None if first is None or second is None else (first + second) / 2


@dataclass(frozen=True)
class PromptInput:
    """An answer that the LLM is asked about.

    Attributes:
        question: text of the query.
        passages: what was shown.
        statements: all statements of the answer.
        numbers: numbers, from 1, of those that are asked about.
    """

    question: str
    passages: Sequence[Passage]
    statements: Sequence[CitedStatement]
    numbers: Sequence[int]

    @property
    def source_prompt(self) -> str:
        """Prompt that asks an LLM for the source of each uncited statement of an answer."""
        return self._fill(_ASK_SOURCE, PASSAGES)

    @property
    def rating_prompt(self) -> str:
        """Prompt that asks an LLM to edit and rate the citations of an answer's statements."""
        edit = {"passage": 2, "why": "needless"}
        return self._fill(_ASK_RATING, {"delete": [edit], "add": [], "rating": 4})

    def _fill(self, prompt: str, verdict: object) -> str:
        """Fill a prompt template with an answer (its texts quoted) and an example of a verdict."""
        passages = [premise_text(p, strict=True) for p in self.passages]
        quotes = Quotes(self.question, *passages, *(s.text for s in self.statements))
        return prompt.format(
            numbers=", ".join(map(str, self.numbers)),
            example=json.dumps({str(n): verdict for n in self.numbers[:1]}),
            note=quotes.note,
            question=quotes.quote(self.question),
            passages="\n".join(f"{n}.\n{quotes.quote(p)}" for n, p in enumerate(passages, 1)),
            statements="\n".join(
                f"{n}. {_name_citations(s)}:\n{quotes.quote(s.text)}"
                for n, s in enumerate(self.statements, 1)
            ),
        )


def _name_citations(statement: CitedStatement) -> str:
    """Write the numbers of the passages that a statement cites, for a prompt."""
    named = [str(position + 1) for position in statement.cited]
    if statement.wrong:
        named.append(f"{statement.wrong} that no passage has")
    return f"cites {', '.join(named)}" if named else "cites nothing"


def _make_signature_option(tools: ScoringTools, protocol: str) -> str | None:
    """Write the score signature's option: the LLM and a hash of its prompts; None without LLM."""
    if tools.llm is None:
        return None
    texts = (
        [_ASK_SOURCE, _ASK_RATING]
        if protocol == "strict"
        else [tools.wording(name) for name in (ATTRIBUTION, RATING, NO_ANSWER)]
    )
    return f"{signature_name(tools.llm)},prompts {digest(texts)[:8]}"


@per_submission(
    "citeeval", needs=(Need.STATEMENTS, Need.SEGMENTER, Need.PASSAGES, Need.LLM), source=SOURCE,
    requires="--llm", options=_make_signature_option, reads_labels=False,
)  # fmt: skip
def rated(answers: Answers) -> dict[AnswerKey, RatedAnswer]:
    """Let the LLM rate the citations of all answers' statements, by answer."""
    # Of uncited statements it says where they come from, so which of them need a citation.
    rows = [answer for answer in answers if answer.statements]
    uncited = _make_inputs(rows, lambda statement: not _has_citation(statement))
    cited = _make_inputs(rows, _has_citation)
    about_sources = _make_requests(uncited, lambda a: a.source_prompt, _SOURCE_FORM)
    about_ratings = _make_requests(cited, lambda a: a.rating_prompt, _RATING_FORM)
    replies = _ask_llm(answers, [*about_sources.values(), *about_ratings.values()])
    sources = dict(zip(about_sources, map(_read_sources, replies), strict=False))
    rest = replies[len(about_sources) :]
    verdicts = dict(zip(about_ratings, map(_read_members, rest), strict=True))
    results = {}
    for a in rows:
        said = [(a.statements[n - 1], verdicts[a.key].get(n)) for n in cited[a.key].numbers]
        needed = [_needs_citation(sources[a.key].get(n)) for n in uncited[a.key].numbers]
        results[a.key] = RatedAnswer(
            _average_ratings([_read_rating(verdict) for _, verdict in said], needed),
            _average_ratings([_rate_by_edits(*row, len(a.passages)) for row in said], needed),
        )
    nothing = Ratings(NOTHING, NOTHING)
    empty = RatedAnswer(nothing, nothing)
    return {answer.key: results.get(answer.key, empty) for answer in answers}


def _has_citation(statement: CitedStatement) -> bool:
    """Whether a statement has a citation, of a passage shown or not."""
    return bool(statement.cited or statement.wrong)


def _make_inputs(
    answers: Sequence[Answer], is_selected: Callable[[CitedStatement], bool]
) -> dict[AnswerKey, PromptInput]:
    """Make the prompt inputs of answers, with the statements that a condition selects."""
    return {
        a.key: PromptInput(
            a.query, a.passages, a.statements,
            [n for n, statement in enumerate(a.statements, 1) if is_selected(statement)],
        )
        for a in answers
    }  # fmt: skip


def _needs_citation(source: str | None) -> Value:
    """Whether a statement with this source needs a citation; between 0 and 1 if unknown."""
    return _OPEN if source is None else Value.exact(float(source == PASSAGES))


def _average_ratings(cited: Sequence[Value], uncited_needs: Sequence[Value]) -> Ratings:
    """Average an answer's ratings: cited statements, and 0 for uncited ones that need some."""
    total, n = sum(cited, NOTHING), len(cited)
    fewest, most = (
        sum(ends) for ends in ([v.low for v in uncited_needs], [v.high for v in uncited_needs])
    )
    if n == 0:
        nothing = NOTHING if most else None
        return Ratings(nothing, nothing)
    full = Value(total.low / (n + most), total.high / (n + fewest))
    return Ratings(full, total / n)


def _make_requests(
    inputs: Mapping[AnswerKey, PromptInput], write_prompt: Callable[[PromptInput], str],
    verdict_schema: Mapping[str, Any],
) -> dict[AnswerKey, Request]:  # fmt: skip
    """Make an LLM request per answer about its selected statements, if there are any.

    Args:
        inputs: what the LLM is asked about.
        write_prompt: makes the prompt.
        verdict_schema: JSON schema of the verdict on a statement.
    """
    return {
        key: Request(
            (("user", write_prompt(row)),),
            {
                "temperature": 0.0,
                "max_tokens": _TOKENS * (1 + len(row.numbers)),
                "response_format": json_format(
                    "verdicts", {str(n): verdict_schema for n in row.numbers}
                ),
            },
            task="citeeval",
        )
        for key, row in inputs.items()
        if row.numbers
    }


def _ask_llm(answers: Answers, requests: Sequence[Request]) -> list[str]:
    """Send requests to the LLM: reply texts, empty where it failed.

    Raises:
        CannotError: no LLM is named, or it failed on all.
    """
    if (llm := answers.tools.llm) is None:
        raise CannotError("needs --llm openai:MODEL or replay:FILE", code="missing-option")
    results = llm.complete(list(requests))
    failures = [r.message for r in results if isinstance(r, Failure)]
    if results and len(failures) == len(results):
        raise CannotError(f"the LLM failed on all answers: {failures[0]}", code="judge-failed")
    return ["" if isinstance(r, Failure) else r.text for r in results]


def _read_members(reply: str) -> dict[int, Any]:
    """Read the members with numbers as names from the JSON objects of an LLM's reply."""
    rows = json_objects(reply)
    members = ((k, v) for row in rows for k, v in row.items())
    return {read_number(k): v for k, v in members if k.isascii() and k.isdigit()}


def _read_sources(reply: str) -> dict[int, str]:
    """Read statements' sources (question, passages, before, model) by number from a reply."""
    return {n: v for n, v in _read_members(reply).items() if v in _SOURCES}


def _read_rating(verdict: object) -> Value:
    """Read a statement's rating from an LLM's verdict: a value in [0, 1], unknown without one."""
    rating = verdict.get("rating") if isinstance(verdict, dict) else None
    return _VALUES.get(str(rating), _OPEN)


def _rate_by_edits(statement: CitedStatement, verdict: object, n_passages: int) -> Value:
    """Rate a statement's citations, in [0, 1], by a verdict's edits; unknown if incomplete."""
    edits = read_verdict(verdict, n_passages)
    if edits is None:  # the verdict is not complete
        return _OPEN
    wrong = [f"wrong {n}" for n in range(statement.wrong)]
    cited = [*(str(position + 1) for position in statement.cited), *wrong]
    edits += [Edit("delete", name, REASONS["delete"]["off-topic"]) for name in wrong]
    return Value.exact(min(1.0, max(0.0, rate_edits(cited, edits)))) if edits else _BEST


@rated.reference
def reference_rated(answers: Answers) -> dict[AnswerKey, RatedAnswer]:
    """Let the LLM rate the citations of all answers, by the authors' code and prompts."""
    tools = answers.tools
    segmenter, no_answer = tools.get_segmenter(), tools.wording(NO_ANSWER)
    rows = [(a, read_sentences(a.output, segmenter, no_answer)) for a in answers]
    asked = [(a, sentences) for a, sentences in rows if sentences]
    templates = [tools.wording(ATTRIBUTION), tools.wording(RATING)]
    requests = [
        Request(
            (("user", fill_prompt(template, a.query, a.passages, sentences)),),
            {"temperature": 0.0, "top_p": 1.0, "max_tokens": 4096},
            task="citeeval",
        )
        for template in templates
        for a, sentences in asked
    ]
    replies = _ask_llm(answers, requests)
    keys = [a.key for a, _ in asked]
    attributed = dict(zip(keys, replies[: len(keys)], strict=True))
    edited = dict(zip(keys, replies[len(keys) :], strict=True))
    results = {}
    for a, sentences in rows:
        reply = edited.get(a.key, "")
        categories = read_categories(attributed.get(a.key, ""))
        marks, edits = read_ratings(reply), rate_edited(sentences, read_edits(reply))
        results[a.key] = RatedAnswer(
            _average_as_authors(sentences, rate_sentences(sentences, categories, marks)),
            _average_as_authors(sentences, rate_sentences(sentences, categories, edits)),
            len(sentences),
        )
    return results


def _average_as_authors(sentences: Sequence[Sentence], ratings: Sequence[float | None]) -> Ratings:
    """Average the ratings of an answer's sentences as the authors' code does; 1 without any."""
    full = [r for r in ratings if r is not None]
    pairs = zip(sentences, ratings, strict=True)
    cited = [r for s, r in pairs if s.citations and r is not None]
    every = sum(full) / len(full) if full else 1.0
    # Where nothing is cited: 0 if something needed to be, else 1.
    of_cited = sum(cited) / len(cited) if cited else float(not full)
    return Ratings(Value.exact(every), Value.exact(of_cited))


def _make_averager(
    get_rating: Callable[[RatedAnswer], Value | None],
) -> Callable[[ByAnswer[RatedAnswer]], Sample]:
    """Make a function that averages a rating over answers, by number of statements if known."""

    def weigh(answer: RatedAnswer) -> tuple[Value, float]:
        """Weigh an answer's rating: (rating times number of statements, that number)."""
        value, n = get_rating(answer) or NOTHING, answer.weight or 0
        return Value(value.low * n, value.high * n), n

    def sample(answers: ByAnswer[RatedAnswer]) -> Sample:
        """Make the sample of a mean rating of all answers."""
        is_weighted = any(answer.weight is not None for answer in answers.values())
        return answers.ratio(weigh) if is_weighted else answers.mean(get_rating)

    return sample


_REFERENCE = "Theirs counts a statement without a verdict as well cited."


def _declare(
    name: str, description: str, symbol: str, get_ratings: Callable[[RatedAnswer], Ratings]
) -> list[Measure]:
    """Declare measures ``NAME.Full`` and ``.Cited`` of ratings (with a symbol for formulas).

    Args:
        name: what their names begin with.
        description: what rates, after "LLM".
        symbol: of the rating, in formulas.
        get_ratings: gets the ratings of an answer.
    """
    return [
        rated.measure(
            f"{name}.Full", f"{description} of the citations of statements that need or have some",
            sample=_make_averager(lambda a: get_ratings(a).full),
            formula=f"mean `{symbol}` of the statements that have one",
            edge_cases="no statement: 0; none has one: undefined (`reference`: 1)",
            citation_quality=CitationQuality(
                "both", "An LLM rates citations against all passages shown, and says which uncited "
                "statements need one.", _REFERENCE)),
        rated.measure(
            f"{name}.Cited", f"{description} of the citations of statements that have some",
            sample=_make_averager(lambda a: get_ratings(a).cited),
            formula=f"mean `{symbol}` of the cited statements",
            edge_cases="none cites: 0 if one needs to, else undefined (`reference`: 1)",
            citation_quality=CitationQuality(
                "precision", "An LLM rates citations against all passages shown.", _REFERENCE)),
    ]  # fmt: skip


MEASURES = (
    *_declare("CiteEval", "ratings from 1 to 5", "r", lambda answer: answer.marks),
    *_declare(
        "CiteEval.Edits", "ratings, by the edits that they need,", "e", lambda answer: answer.edits
    ),
    *_declare("CiteEval.Both", "mean of both ratings", "(r + e)/2", lambda answer: answer.both),
)
