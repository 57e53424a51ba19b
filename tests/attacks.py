"""What somebody does who holds the public half of a benchmark and wants its labels."""

import hashlib
import itertools
import json
import math
import random
import re
import shutil
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq

from citeforge.engines.tables import write_table
from citeforge.package.package import Package
from citeforge.publishing.hidden import remove_labels

Ranking = dict[str, list[str]]
"""Query to the passages of its context, the one that is taken for relevant first."""


@dataclass
class View:
    """What is public.

    Attributes:
        queries: query to its metadata.
        passages: passage to (row, text, metadata).
        contexts: context set to query to passages in the order shown.
        ranks: (query, passage) to its rank, where candidates are public.
        texts: everything that is said beside the tables.
        questions: query to its text.
    """

    queries: dict[str, str]
    passages: dict[str, tuple[int, str, str]]
    contexts: dict[str, dict[str, list[str]]]
    ranks: dict[tuple[str, str], int]
    texts: str
    questions: dict[str, str] = field(default_factory=dict)

    @property
    def shown(self) -> dict[str, list[str]]:
        """The first context set."""
        return next(iter(self.contexts.values()))

    def ranked(self, suspicion: Callable[[str, str], float]) -> Ranking:
        """Passages by (query, passage) → suspicion, the smallest first; ties by their text."""
        return {
            query: sorted(ids, key=lambda i: (suspicion(query, i), _sha(self.passages[i][1])))
            for query, ids in self.shown.items()
        }


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _rows(folder: Path, config: str) -> Iterable[dict[str, object]]:
    for path in sorted((folder / config).glob("*.parquet")):
        yield from pq.ParquetFile(path).read().to_pylist()


def view(folder: Path) -> View:
    """Read a public half, or what stands for one."""
    contexts = {
        path.name.split("-")[0]: {
            r["query_id"]: [d["corpus-id"] for d in r["docs"]]
            for r in pq.ParquetFile(path).read().to_pylist()
        }
        for path in sorted((folder / "contexts").glob("*.parquet"))
    }
    rows = enumerate(_rows(folder, "corpus"))
    beside = [p for p in sorted(folder.iterdir()) if p.is_file()]
    return View(
        {str(r["_id"]): str(r["metadata"] or "") for r in _rows(folder, "queries")},
        {str(r["_id"]): (n, str(r["text"]), str(r["metadata"] or "")) for n, r in rows},
        contexts,
        {(r["query_id"], r["corpus-id"]): r["rank"] for r in _rows(folder, "candidates")},  # type: ignore[misc]
        "\n".join(path.read_text() for path in beside),
        {str(r["_id"]): str(r["text"]) for r in _rows(folder, "queries")},
    )


def naive_half(folder: Path, out: Path) -> Path:
    """A public half by whoever takes the labels away and nothing else."""
    package = Package(folder)
    for config in ("corpus", "queries", "candidates"):
        if (folder / config).is_dir():
            shutil.copytree(folder / config, out / config)
    for name in package.contexts:
        write_table(out / "contexts", name, remove_labels(package.context_table(name)))
    for name in ("manifest.json", "stats.json", "README.md"):
        shutil.copy(folder / name, out / name)
    return out


def by_seed(seed: int) -> Callable[[View], Ranking]:
    """Undo the shuffle that a seed gives: relevant passages were put in first."""

    def attack(half: View) -> Ranking:
        (name, contexts), *_ = half.contexts.items()
        before: dict[tuple[str, str], int] = {}
        for query, ids in contexts.items():
            places = list(range(len(ids)))
            key = hashlib.sha256(f"{seed}\x1forder\x1f{name}\x1f{query}".encode()).digest()
            random.Random(int.from_bytes(key)).shuffle(places)
            before |= {(query, i): place for i, place in zip(ids, places, strict=True)}
        return half.ranked(lambda query, passage: before[query, passage])

    return attack


def by_redraw(seed: int, source: Sequence[str]) -> Callable[[View], Ranking]:
    """Draw the irrelevant passages again, from the source that everybody has: all but those."""

    def attack(half: View) -> Ranking:
        drawn = set()
        for query in half.shown:
            key = hashlib.sha256(f"{seed}\x1firrelevant\x1f{query}".encode()).digest()
            rng = random.Random(int.from_bytes(key))
            drawn |= {(query, source[rng.randrange(len(source))]) for _ in range(15)}
        return half.ranked(lambda query, i: (query, half.passages[i][1]) in drawn)

    return attack


def by_place(half: View) -> Ranking:
    """What is shown first."""
    return half.ranked(lambda query, passage: half.shown[query].index(passage))


def by_id(half: View) -> Ranking:
    """What has the smallest id."""
    order = {passage: n for n, passage in enumerate(sorted(half.passages))}
    return half.ranked(lambda _, passage: order[passage])


def by_row(half: View) -> Ranking:
    """What comes first in the corpus."""
    return half.ranked(lambda _, passage: half.passages[passage][0])


def by_rank(half: View) -> Ranking:
    """What a retriever put first, where its lists are public."""
    return half.ranked(lambda query, passage: half.ranks.get((query, passage), 0))


def by_sharing(half: View) -> Ranking:
    """What most context sets of the query show."""
    return half.ranked(
        lambda query, passage: -sum(passage in c[query] for c in half.contexts.values())
    )


def by_oracle(half: View) -> Ranking:
    """What a context set shows first that was put together by gold."""
    oracle = half.contexts.get("oracle", {})

    def suspicion(query: str, passage: str) -> float:
        ids = oracle.get(query, [])
        return ids.index(passage) if passage in ids else len(ids)

    return half.ranked(suspicion)


def by_answers(half: View) -> Ranking:
    """What holds an answer that stands in the query's metadata."""

    def suspicion(query: str, passage: str) -> float:
        answers = json.loads(half.queries[query] or "{}").get("answers", [])
        return -sum(answer in half.passages[passage][1] for answer in answers)

    return half.ranked(suspicion)


def by_marks(half: View) -> Ranking:
    """What says in its own metadata which query it is for."""
    return half.ranked(lambda query, passage: f'"{query}"' not in half.passages[passage][2])


def frequencies(half: View) -> Counter[str]:
    """In how many contexts each passage is shown."""
    return Counter(i for ids in half.shown.values() for i in ids)


def by_frequency(sign: int) -> Callable[[View], Ranking]:
    """What the fewest contexts show (1), or the most (-1)."""

    def attack(half: View) -> Ranking:
        often = frequencies(half)
        return half.ranked(lambda _, passage: sign * often[passage])

    return attack


Likeness = dict[str, dict[str, float]]
"""Query to the cosine of passages that have a word of it, each word weighing alike."""


def likeness(half: View) -> Likeness:
    """Cosines of all queries and passages by their words, the whole corpus looked at."""
    carriers: dict[str, list[str]] = {}
    lengths = {}
    for passage, (_, text, _) in half.passages.items():
        words = set(text.split())
        lengths[passage] = len(words)
        for word in words:
            carriers.setdefault(word, []).append(passage)
    result: Likeness = {}
    for query, text in half.questions.items():
        words = set(text.split())
        common = Counter(i for word in words for i in carriers.get(word, []))
        result[query] = {i: n / (len(words) * lengths[i]) ** 0.5 for i, n in common.items()}
    return result


Clue = Callable[[str, str], float]
"""(query, passage) to a number that may tell something; the smaller, the more suspicious."""


def by_likeness(
    alike: Likeness, weight: float = 0.0, clue: Clue = lambda *_: 0.0
) -> Callable[[View], Ranking]:
    """What is most like the query; with a weight, also by a clue."""
    return lambda half: half.ranked(lambda q, i: weight * clue(q, i) - alike[q].get(i, 0.0))


def _showing(half: View) -> dict[str, set[str]]:
    """Passage to the queries that it is shown."""
    result: dict[str, set[str]] = {}
    for query, ids in half.shown.items():
        for passage in ids:
            result.setdefault(passage, set()).add(query)
    return result


def clues(half: View) -> dict[str, Clue]:
    """What contexts tell of a passage beside its text."""
    often, showing = frequencies(half), _showing(half)
    place = {(q, i): n for q, ids in half.shown.items() for n, i in enumerate(ids)}
    by_name = {passage: n for n, passage in enumerate(sorted(half.passages))}

    def meets_again(query: str, passage: str) -> int:
        """Passages of this context that another one shows together with it, too."""
        return sum(
            len(showing[passage] & showing[other]) > 1
            for other in half.shown[query]
            if other != passage
        )

    return {
        "frequency": lambda _, i: often[i],
        "place": lambda q, i: place[q, i] / 10,
        "company": meets_again,
        "id": lambda _, i: by_name[i] / len(by_name),
        "row": lambda _, i: half.passages[i][0] / len(by_name),
    }


def by_elsewhere(half: View, alike: Likeness, is_shown: bool) -> Ranking:
    """What is more like its query than like others: like those that show it, or like any."""
    showing = _showing(half)

    def suspicion(query: str, passage: str) -> float:
        others = showing[passage] if is_shown else half.shown
        rest = (alike[q].get(passage, 0.0) for q in others if q != query)
        return max(rest, default=0.0) - alike[query].get(passage, 0.0)

    return half.ranked(suspicion)


Evidence = dict[str, list[int]]
"""Query to counts, one of which may tell how many passages are relevant to it."""


def ranks_shown(half: View, alike: Likeness) -> Evidence:
    """How many of the shown passages are among the 1, 2, … 30 most like the query."""
    result = {}
    for query, ids in half.shown.items():
        order = sorted(alike[query].values(), reverse=True)
        ranks = [
            bisect_left(order, -alike[query].get(i, 0.0), key=lambda value: -value) + 1 for i in ids
        ]
        result[query] = [sum(rank <= depth for rank in ranks) for depth in range(1, 31)]
    return result


def gaps(half: View, alike: Likeness) -> Evidence:
    """How many passages of the corpus, shown or not, are nearly as like the query as the first."""
    result = {}
    for query in half.shown:
        values = alike[query].values()
        most = max(values, default=0.0)
        result[query] = [sum(v >= most * part / 20 for v in values) for part in range(6, 20)]
    return result


def guess_numbers(evidence: Evidence, truth: dict[str, set[str]]) -> tuple[int, float]:
    """How often the number of relevant passages follows from a count.

    For each count the most frequent number is learnt for each of its values, on every other query;
    the count that does best there is tried on the rest.

    Returns:
        Queries of the rest that are guessed right, and the share of the most frequent number there.
    """
    queries = list(evidence)
    known, others = queries[::2], queries[1::2]
    usual = Counter(len(truth[q]) for q in known).most_common(1)[0][0]

    def right(column: int, among: list[str]) -> int:
        seen: dict[int, Counter[int]] = {}
        for q in known:
            seen.setdefault(evidence[q][column], Counter())[len(truth[q])] += 1
        learnt = {count: numbers.most_common(1)[0][0] for count, numbers in seen.items()}
        return sum(learnt.get(evidence[q][column], usual) == len(truth[q]) for q in among)

    best = max(range(len(evidence[queries[0]])), key=lambda column: right(column, known))
    top = Counter(len(truth[q]) for q in others).most_common(1)[0][1]
    return right(best, others), top / len(others)


def by_another_release(other: View) -> Callable[[View], Ranking]:
    """What another release of the same benchmark shows the query, too."""
    texts = {q: {other.passages[i][1] for i in ids} for q, ids in other.shown.items()}
    return lambda half: half.ranked(
        lambda query, passage: half.passages[passage][1] not in texts[query]
    )


def hits(ranking: Ranking, truth: dict[str, set[str]]) -> int:
    """Relevant passages among as many guesses as there are: the attacker knows how many."""
    return sum(len(truth[q] & set(ids[: len(truth[q])])) for q, ids in ranking.items())


def by_chance(shown: dict[str, list[str]], truth: dict[str, set[str]]) -> float:
    """Hits that are expected of blind guesses: r of n are right, r are guessed, so r · r / n."""
    return sum(len(truth[q]) ** 2 / len(ids) for q, ids in shown.items())


def standard_error(shown: dict[str, list[str]], truth: dict[str, set[str]]) -> float:
    """Of the hits of blind guesses: a query's are hypergeometric, with the variance
    r · r/n · (1 − r/n) · (n − r) / (n − 1)."""
    total = 0.0
    for query, ids in shown.items():
        n, r = len(ids), len(truth[query])
        total += r * (r / n) * (1 - r / n) * (n - r) / (n - 1)
    return math.sqrt(total)


def probability(n_hits: int, shown: dict[str, list[str]], truth: dict[str, set[str]]) -> float:
    """Probability of so many hits or more of blind guesses, exact: a query's hits are
    hypergeometric, C(r, h) C(n − r, r − h) / C(n, r), and queries are independent."""
    total = {0: 1.0}
    for query, ids in shown.items():
        n, r = len(ids), len(truth[query])
        mine = {
            h: math.comb(r, h) * math.comb(n - r, r - h) / math.comb(n, r) for h in range(r + 1)
        }
        sums: Counter[int] = Counter()
        for (a, p), (b, q) in itertools.product(total.items(), mine.items()):
            sums[a + b] += p * q  # type: ignore[assignment]
        total = dict(sums)
    return sum(p for h, p in total.items() if h >= n_hits)


def tried_out(half: View, guesses: Iterable[tuple[str, str]]) -> list[str]:
    """Guesses whose content has a sha256 that stands somewhere in the public half.

    Args:
        half: what is public.
        guesses: (name, content of a hidden file by this guess).
    """
    hashes = set(re.findall(r"\b[0-9a-f]{64}\b", half.texts))
    return [name for name, content in guesses if _sha(content) in hashes]
