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
from typing import TYPE_CHECKING

import numpy as np

from citeforge.engines.files import digest, storage_errors
from citeforge.engines.judge.records import JudgeFailure, Pair
from citeforge.engines.judge.session import JudgeSession
from citeforge.evaluator.measures.columns import Compute
from citeforge.evaluator.measures.declared import PassageMeasure
from citeforge.evaluator.measures.judging import premise, premise_text
from citeforge.evaluator.statements.protocols import statements_of
from citeforge.evaluator.statements.strict import CitedStatement
from citeforge.evaluator.statistics.estimates import Sample, ratio_sample, sample_between
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.inputs import AnswerItem, AnswerKey, Inputs
from citeforge.evaluator.submissions.tools import CannotError, ScoringTools
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


def judged_statement(
    key: AnswerKey, item: AnswerItem, statement: CitedStatement
) -> JudgedStatement:
    """Collect the texts of a statement's citations, and of the other passages shown with it."""
    texts = [premise_text(p, strict=True) for p in item.passages]
    return JudgedStatement(
        key, statement.text, premise(item.passages, statement.cited, strict=True),
        tuple(texts[c] for c in statement.cited),
        tuple(tuple(t for i, t in enumerate(texts) if i != c) for c in statement.cited),
        statement.wrong,
    )  # fmt: skip


def classify_citations(
    statements: Sequence[JudgedStatement], judge: JudgeSession, search: Search
) -> list[list[frozenset[int]]]:
    """Classify every citation of statements: right, or wrong in one of five ways.

    Returns for each citation the classes that it may have: one, unless the judge failed.

    The judge is asked in waves, and only what can still decide: first whether a statement follows
    from all passages that it cites, and from each alone; if not, from the other passages shown; if
    not, from passages of the corpus. Citations of passages that do not exist come last.

    Args:
        statements: statements with their citations.
        judge: decides entailment.
        search: finds passages of the corpus.
    """
    judge.ask(Pair(t, s.text) for s in statements for t in (s.together, *s.cited))
    possible: list[list[set[int]]] = [[set() for _ in s.cited] for s in statements]
    unsettled = dict.fromkeys((i, n) for i, s in enumerate(statements) for n in range(len(s.cited)))

    def add_class(number: int, holds: Callable[[JudgedStatement, int], bool | None]) -> None:
        """Add an error class to each undecided citation that it may have; ``holds`` says whether.

        Args:
            number: the class.
            holds: whether a citation is of the class; None where the judge failed. True decides it.
        """
        for i, n in tuple(unsettled):
            answer = holds(statements[i], n)
            if answer is not False:
                possible[i][n].add(number)
            if answer:
                del unsettled[i, n]

    def add_entailed(
        number: int, premises: Callable[[JudgedStatement, int], Sequence[str]]
    ) -> None:
        """Add class ``number`` to open citations with a premise that entails the statement."""
        judge.ask(Pair(t, statements[i].text) for i, n in unsettled
                  for t in premises(statements[i], n))  # fmt: skip
        add_class(number, lambda s, n: _any_entails(judge, premises(s, n), s.text))

    add_entailed(RIGHT, lambda s, n: (s.cited[n], s.together))
    add_entailed(SHOWN, lambda s, n: s.others[n])
    most_shown = max((len(statements[i].others[n]) + 1 for i, n in unsettled), default=0)
    texts = list(dict.fromkeys(statements[i].text for i, _ in unsettled))
    near = search(texts, CANDIDATES + most_shown) if texts else {}
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


def _unseen_passages(s: JudgedStatement, near: Mapping[str, Sequence[str]]) -> list[str]:
    """List the corpus passages nearest to a statement that were not shown with its answer."""
    seen_texts = {*s.cited, *(text for texts in s.others for text in texts)}
    return [text for text in near.get(s.text, ()) if text not in seen_texts][:CANDIDATES]


Classified = list[tuple[AnswerKey, frozenset[int]]]
"""(run and query, classes that it may have) of every citation."""


def classified_citations(inputs: Inputs) -> Classified:
    """Sort every citation of all answers into the classes of right and wrong citations.

    Raises:
        CannotError: the protocol is ``reference``, there is no judge, or no corpus to search.
    """
    if inputs.protocol != "strict":
        raise CannotError(
            "defined by citeforge, not by a paper: score with --protocol strict",
            code="conflicting-options",
        )
    judge = inputs.tools.get_judge()
    rows = statements_of(inputs, "alce")
    statements = [judged_statement(k, i, s) for k, i, read in rows for s in read]
    search = partial(_find_nearest_texts, inputs.benchmark, inputs.tools.options.embedder)
    classes = classify_citations(statements, judge, search)
    return [
        (statement.key, possible)
        for statement, citations in zip(statements, classes, strict=True)
        for possible in citations
    ]


def _share_of(*classes: int) -> Compute:
    """Make the function that computes the share of citations in some classes."""
    wanted = frozenset(classes)

    def compute(inputs: Inputs) -> Sample:
        """Compute the share of citations in some classes, with bounds where judgements failed."""
        shape = (*inputs.shape, 2)
        low, high = np.zeros(shape), np.zeros(shape)
        for key, possible in inputs.once(classified_citations):
            low[key] += possible <= wanted, 1
            high[key] += bool(possible & wanted), 1
        return sample_between(ratio_sample, low, high)

    return compute


def _contradicted(inputs: Inputs) -> Sample:
    """Compute the share of citations whose passage contradicts their statement.

    Raises:
        CannotError: the judge reports no contradictions.
    """
    inputs.once(classified_citations)  # says first what else is missing
    assert inputs.tools.judge is not None
    if not getattr(inputs.tools.judge.judge, "tells_contradictions", False):
        raise CannotError(
            "this judge reports no contradictions; Wrong.Nothing has them", code="missing-judge"
        )
    return _share_of(CONTRADICTED)(inputs)


def _find_nearest_texts(
    benchmark: Benchmark, embedder: str, statements: Sequence[str], depth: int
) -> dict[str, list[str]]:
    """Find the texts of the corpus passages that are nearest to each statement.

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
    """Open a benchmark's corpus for vector search, with a scratch folder for query vectors.

    Vectors of passages stay in the cache of Hugging Face (``HF_ASSETS_CACHE``) with a fingerprint
    of model and texts, as those of builds do; only where it changes are they computed again.
    """
    from huggingface_hub import cached_assets_path, constants

    from citeforge.engines.models.embedder import model_of
    from citeforge.engines.retrieval.certain import CorpusModel
    from citeforge.engines.retrieval.dense import DenseCorpus
    from citeforge.engines.running.names import make_embedder

    with storage_errors(Path(constants.HF_ASSETS_CACHE)):
        home = cached_assets_path(
            "citeforge", "vectors", benchmark_hash, assets_dir=constants.HF_ASSETS_CACHE
        )
    model = make_embedder(embedder)
    vectors = home / digest(model_of(model.fingerprint()))[:16]
    scratch = tempfile.TemporaryDirectory(prefix="citeforge-")
    corpus = Benchmark(folder).corpus
    searched = CorpusModel(model, corpus, vectors, query_folder=Path(scratch.name))
    return DenseCorpus(searched), scratch


def _options(tools: ScoringTools, protocol: str) -> str:
    """Write the measures' options for score signatures: number of candidates, and embedder."""
    return f"candidates:{CANDIDATES},{tools.options.embedder}"


_wrong = partial(
    PassageMeasure, family="wrong", needs="a judge, and an embedder (--embedder)", source="ours",
    uses=("judge", "segmenter", "statements"), options=_options, higher_is_better=False,
    unlabelled="it reads passages that are not cited, and labels cover cited ones only",
)  # fmt: skip
MEASURES = (
    _wrong("Wrong", definition="citations that support their statement neither alone nor together",
           compute=_share_of(SHOWN, CORPUS, CONTRADICTED, NOTHING, ABSENT),
           formula="all unsupported ones: the sum of those below"),
    _wrong("Wrong.Shown", definition="of all citations, unsupported ones whose statement another "
           "passage shown supports", compute=_share_of(SHOWN),
           formula="another passage shown entails the statement"),
    _wrong("Wrong.Corpus", definition="of all citations, unsupported ones whose statement another "
           "passage of the corpus supports", compute=_share_of(CORPUS),
           formula="one of the 5 nearest other passages of the corpus does (`--embedder` finds "
           "them, the judge decides)"),
    _wrong("Wrong.Contradicted", definition="of all citations, unsupported ones whose statement no "
           "passage supports and the cited one contradicts (of judges that say so)",
           compute=_contradicted, formula="the passage contradicts the statement; only of "
           "[judges that say so](models.md#judge-profiles), else in `Wrong.Nothing`"),
    _wrong("Wrong.Nothing", definition="of all citations, unsupported ones whose statement no "
           "passage supports (others than Wrong.Contradicted)", compute=_share_of(NOTHING),
           formula="the others"),
    _wrong("Wrong.Absent", definition="citations of passages that do not exist, or were not shown",
           compute=_share_of(ABSENT),
           formula="of a passage that does not exist or was not shown"),
)  # fmt: skip
