"""Measures of wrong citations: every unsupported citation is in exactly one of five classes.

## wrong

Ours; `strict` only. A citation is unsupported if neither its passage nor all that its statement
cites entails the statement. Each is in the first class that fits; each measure is its citations ÷
all citations, over all answers.

*Example.* Of 4 citations one is right, one has its support in the passage beside it, two have none
anywhere: Wrong = 3/4, Shown = 1/4, Nothing = 2/4.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from citeforge.engines.judge.records import JudgeFailure, Pair
from citeforge.engines.judge.session import JudgeSession
from citeforge.evaluator.measures.declared import per_submission
from citeforge.evaluator.measures.handed import Answers
from citeforge.evaluator.measures.judging import premise, premise_text
from citeforge.evaluator.statements.strict import CitedStatement
from citeforge.evaluator.statistics.estimates import Sample, ratio_sample, sample_between
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.inputs import AnswerItem, AnswerKey
from citeforge.evaluator.submissions.tools import CannotError, Need, ScoringTools
from citeforge.package.items import Passage
from citeforge.schemas.errors import CiteforgeError

if TYPE_CHECKING:
    from citeforge.engines.retrieval.dense import DenseCorpus

CANDIDATES = 5
"""Passages of the corpus that the judge is asked about, for each statement."""
RIGHT, SHOWN, CORPUS, CONTRADICTED, NOTHING, ABSENT = range(6)


Search = Callable[[Sequence[str], int], Mapping[str, Sequence[str]]]
"""(statements, number) to the texts of each statement's nearest passages, the nearest first."""


@dataclass(frozen=True)
class JudgedStatement:
    """A statement with the texts of its citations, and of other passages that might support it.

    Attributes:
        key: (run, row of the query).
        text: the statement, as hypothesis.
        together: texts of all passages that it cites, joined.
        cited: texts of its citations, one by one.
        others: for each citation, texts of the other passages that were shown.
        wrong: its citations of passages that do not exist, or were not shown.
    """

    key: AnswerKey
    text: str
    together: str
    cited: tuple[str, ...]
    others: tuple[tuple[str, ...], ...]
    wrong: int


def make_judged_statement(
    answer_key: AnswerKey, answer: AnswerItem, statement: CitedStatement
) -> JudgedStatement:
    """Collect the texts by which a judge decides if a statement of an answer is cited rightly.

    Args:
        answer_key: run and query of the statement.
        answer: passages that were shown for it.
        statement: positions of the passages cited, and the number of citations of passages that do
            not exist.

    Returns:
        Statement with its premise (all cited passages together), the text of each cited passage,
        for each of them the texts of all others shown, and the number of citations of nothing.
    """
    texts = [premise_text(p, strict=True) for p in answer.passages]
    return JudgedStatement(
        answer_key, statement.text, premise(answer.passages, statement.cited, strict=True),
        tuple(texts[c] for c in statement.cited),
        tuple(tuple(t for i, t in enumerate(texts) if i != c) for c in statement.cited),
        statement.wrong,
    )  # fmt: skip


def classify_citations(
    statements: Sequence[JudgedStatement], judge: JudgeSession, search_corpus: Search
) -> list[list[frozenset[int]]]:
    """Classify citations: per statement and citation, the classes that it may have.

    A citation is right, or wrong in one of five ways. It may have several classes only where the
    judge failed.

    The judge is asked in waves, and only what can still decide: first whether a statement follows
    from all passages that it cites, and from each alone; if not, from the other passages shown; if
    not, from passages of the corpus. Citations of passages that do not exist come last.

    Args:
        statements: statements with their citations.
        judge: decides entailment.
        search_corpus: finds, for each of some statements, the texts of so many nearest passages of
            the corpus.
    """
    judge.ask(Pair(t, s.text) for s in statements for t in (s.together, *s.cited))
    possible: list[list[set[int]]] = [[set() for _ in s.cited] for s in statements]
    unsettled = dict.fromkeys((i, n) for i, s in enumerate(statements) for n in range(len(s.cited)))

    def add_class(
        class_number: int, is_of_class: Callable[[JudgedStatement, int], bool | None]
    ) -> None:
        """Add a class to the undecided citations that may have it; decide those that surely do.

        Args:
            class_number: the class.
            is_of_class: whether a citation is of the class, which decides it; None where the
                judge failed.
        """
        for i, n in tuple(unsettled):
            answer = is_of_class(statements[i], n)
            if answer is not False:
                possible[i][n].add(class_number)
            if answer:
                del unsettled[i, n]

    def add_entailed(
        class_number: int, premises: Callable[[JudgedStatement, int], Sequence[str]]
    ) -> None:
        """Add a class to the undecided citations for which a premise entails their statement."""
        judge.ask(Pair(t, statements[i].text) for i, n in unsettled
                  for t in premises(statements[i], n))  # fmt: skip
        add_class(class_number, lambda s, n: _any_entails(judge, premises(s, n), s.text))

    add_entailed(RIGHT, lambda s, n: (s.cited[n], s.together))
    add_entailed(SHOWN, lambda s, n: s.others[n])
    most_shown = max((len(statements[i].others[n]) + 1 for i, n in unsettled), default=0)
    texts = list(dict.fromkeys(statements[i].text for i, _ in unsettled))
    near = search_corpus(texts, CANDIDATES + most_shown) if texts else {}
    add_entailed(CORPUS, lambda s, _: _unseen_passages(s, near))
    add_class(CONTRADICTED, lambda s, n: _contradicts(judge, s.cited[n], s.text))
    add_class(NOTHING, lambda s, n: True)
    return [
        [*map(frozenset, classes), *[frozenset({ABSENT})] * s.wrong]
        for s, classes in zip(statements, possible, strict=True)
    ]


def _any_entails(judge: JudgeSession, texts: Sequence[str], statement: str) -> bool | None:
    """Whether any of the texts entails the statement; None if a judge failure leaves that open."""
    decisions = judge.ask(Pair(text, statement) for text in texts).values()
    if any(not isinstance(d, JudgeFailure) and d.entailed for d in decisions):
        return True
    return None if any(isinstance(d, JudgeFailure) for d in decisions) else False


def _contradicts(judge: JudgeSession, premise: str, statement: str) -> bool | None:
    """Whether a premise contradicts a statement; None if the judge failed."""
    (decision,) = judge.ask([Pair(premise, statement)]).values()
    if isinstance(decision, JudgeFailure):
        return None
    return decision.support is not None and decision.support < 0


def _unseen_passages(
    statement: JudgedStatement, nearest_texts: Mapping[str, Sequence[str]]
) -> list[str]:
    """List the texts of at most 5 corpus passages near a statement that were not shown for it."""
    seen_texts = {*statement.cited, *(text for texts in statement.others for text in texts)}
    nearest = nearest_texts.get(statement.text, ())
    return [text for text in nearest if text not in seen_texts][:CANDIDATES]


@dataclass(frozen=True)
class Classified:
    """All citations of a submission with their classes.

    Attributes:
        citations: (run and query, classes that it may have) of each.
        shape: number of runs, and number of queries.
        tells_contradictions: whether the judge reports contradictions.
    """

    citations: Sequence[tuple[AnswerKey, frozenset[int]]]
    shape: tuple[int, int]
    tells_contradictions: bool

    def share_of(self, *classes: int) -> Sample:
        """Compute the share of citations in given classes, with bounds where judgements failed."""
        wanted, low, high = frozenset(classes), *(np.zeros((*self.shape, 2)) for _ in range(2))
        for key, possible in self.citations:
            low[key] += possible <= wanted, 1
            high[key] += bool(possible & wanted), 1
        return sample_between(ratio_sample, low, high)

    def share_contradicted(self) -> Sample:
        """Compute the share of citations whose passage contradicts their statement.

        Raises:
            CannotError: the judge reports no contradictions.
        """
        if not self.tells_contradictions:
            raise CannotError(
                "this judge reports no contradictions; Wrong.Nothing has them",
                code="missing-judge",
            )
        return self.share_of(CONTRADICTED)


def _make_signature_option(tools: ScoringTools, protocol: str) -> str:
    """Write options for score signatures: passages searched per statement, and the embedder."""
    return f"candidates:{CANDIDATES},{tools.options.embedder}"


@per_submission(
    "wrong", source="ours",
    needs=(Need.STATEMENTS, Need.PASSAGES, Need.JUDGE_IF_ANY, Need.BENCHMARK),
    requires="a judge, and an embedder (--embedder)", options=_make_signature_option,
    higher_is_better=False,
    unlabelled="it reads passages that are not cited, and labels cover cited ones only",
)  # fmt: skip
def classified(answers: Answers) -> Classified:
    """Classify all citations of a submission: right, or wrong in one of five ways.

    Raises:
        CannotError: there is no judge, or no corpus to search.
    """
    judge = answers.tools.get_judge()
    statements = [
        make_judged_statement(answer.key, answer, statement)
        for answer in answers
        for statement in answer.statements
    ]
    search = partial(_find_nearest_texts, answers.benchmark, answers.tools.options.embedder)
    classes = classify_citations(statements, judge, search)
    citations = [
        (statement.key, possible)
        for statement, several in zip(statements, classes, strict=True)
        for possible in several
    ]
    tells_contradictions = getattr(judge.judge, "tells_contradictions", False)
    return Classified(citations, answers.shape, tells_contradictions)


@classified.reference
def reference_classified(answers: Answers) -> NoReturn:
    """Raise an error: no paper defines these measures, so the protocol ``reference`` has none.

    Raises:
        CannotError: always.
    """
    raise CannotError(
        "defined by citeforge, not by a paper: score with --protocol strict",
        code="conflicting-options",
    )


def _find_nearest_texts(
    benchmark: Benchmark, embedder: str, statements: Sequence[str], depth: int
) -> dict[str, list[str]]:
    """Find the texts of the corpus passages that are nearest to each statement.

    Args:
        benchmark: benchmark with a corpus.
        embedder: name of the embedder that compares texts.
        statements: texts to search for.
        depth: passages for each.

    Returns:
        Texts of the passages, nearest first, by statement.

    Raises:
        CannotError: the corpus cannot be searched with this embedder.
    """
    try:
        corpus, _ = _open_corpus(benchmark.folder, benchmark.hash, embedder)
    except CiteforgeError as error:
        raise CannotError(f"the corpus cannot be searched: {error}", code=error.code) from error
    queries = {str(number): text for number, text in enumerate(statements)}
    ranking = corpus.rank(queries, depth)
    texts = benchmark.texts({r.docid for several in ranking.values() for r in several})
    return {
        text: [
            premise_text(Passage(r.docid, *texts[r.docid]), strict=True) for r in ranking[number]
        ]
        for number, text in queries.items()
    }


@lru_cache(maxsize=1)
def _open_corpus(
    folder: Path, benchmark_hash: str, embedder: str
) -> tuple[DenseCorpus, tempfile.TemporaryDirectory[str]]:
    """Open a benchmark's corpus for vector search: (corpus, temporary folder of its vectors).

    Args:
        folder: folder of the benchmark.
        benchmark_hash: hash of its content, which another build in this folder changes.
        embedder: name of the embedder.

    Returns:
        (searchable corpus, its scratch folder, which must live as long).
    """
    from citeforge.engines.retrieval.certain import CorpusModel
    from citeforge.engines.retrieval.dense import DenseCorpus
    from citeforge.engines.running.names import make_embedder

    scratch = tempfile.TemporaryDirectory(prefix="citeforge-")
    corpus = Benchmark(folder).corpus
    return DenseCorpus(CorpusModel(make_embedder(embedder), corpus, Path(scratch.name))), scratch


MEASURES = (
    classified.measure(
        "Wrong", "citations that support their statement neither alone nor together",
        sample=lambda found: found.share_of(SHOWN, CORPUS, CONTRADICTED, NOTHING, ABSENT),
        formula="all unsupported ones: the sum of those below"),
    classified.measure(
        "Wrong.Shown", "of all citations, unsupported ones whose statement another passage shown "
        "supports", sample=lambda found: found.share_of(SHOWN),
        formula="another passage shown entails the statement"),
    classified.measure(
        "Wrong.Corpus", "of all citations, unsupported ones whose statement another passage of the "
        "corpus supports", sample=lambda found: found.share_of(CORPUS),
        formula="one of the 5 nearest other passages of the corpus does (`--embedder` finds them, "
        "the judge decides)"),
    classified.measure(
        "Wrong.Contradicted", "of all citations, unsupported ones whose statement no passage "
        "supports and the cited one contradicts (of judges that say so)",
        sample=Classified.share_contradicted,
        formula="the passage contradicts the statement; only of "
        "[judges that say so](models.md#judge-profiles), else in `Wrong.Nothing`"),
    classified.measure(
        "Wrong.Nothing", "of all citations, unsupported ones whose statement no passage supports "
        "(others than Wrong.Contradicted)", sample=lambda found: found.share_of(NOTHING),
        formula="the others"),
    classified.measure(
        "Wrong.Absent", "citations of passages that do not exist, or were not shown",
        sample=lambda found: found.share_of(ABSENT),
        formula="of a passage that does not exist or was not shown"),
)  # fmt: skip
