"""Check that questions about a graph ask for their gold facts, and for nothing else."""

import json
from collections.abc import Iterator

from citeforge.builders.kalma.question_check import (
    QuestionCheck,
    QuestionToCheck,
    share_stats,
)
from citeforge.builders.kalma.question_controls import control_questions, error_stats
from citeforge.builders.kalma.selection import EntityPair
from citeforge.engines.tables import rows_of
from citeforge.package.items import by_query
from citeforge.package.package import Package
from citeforge.schemas.audit import SKIPPED_CHECK, Flaw
from citeforge.schemas.counts import describe_count
from citeforge.schemas.kg import Triple, from_row, group_into_graphs

CHECK = "questions ask for their gold"


def check_questions(package: Package, checker: QuestionCheck) -> tuple[str, list[Flaw]]:
    """Check that questions about graphs ask for their gold facts alone: (method used, flaws).

    Returns:
        (how it was checked, with the shares of facts and questions; flaws).
    """
    read = list(read_questions(package, package.kind.facts.questions))
    if not any(asking.facts for _, asking, _ in read):
        return f"{SKIPPED_CHECK}no minimum knowledge sets", []
    askings = {
        form: [(q, a) for q, a, _ in read_questions(package, form)] for form in package.forms
    }
    stats = share_stats(checker, {form: [a for _, a in rows] for form, rows in askings.items()})
    flaws = []
    for form, rows in askings.items():
        for (query, asking), found in zip(rows, checker.check([a for _, a in rows]), strict=True):
            if found.failure:
                flaws.append(Flaw("question-not-checked", query, "", f"{form}: {found.failure}"))
            elif (why := found.find_fault(asking)) is not None:
                flaws.append(Flaw(f"{form}-question", query, "", why))
    if checker.llm is not None:
        pairs = ((pair, asking.facts) for _, asking, pair in read if pair is not None)
        stats |= error_stats(checker, control_questions(checker.domain, pairs))
    shares = (f"{describe_count(key)}: {share}" for key, share in stats.items())
    return "; ".join([checker.checked_by, *shares]), flaws


def read_questions(
    package: Package, wording: str
) -> Iterator[tuple[str, QuestionToCheck, EntityPair | None]]:
    """Yield (query id, question with facts, linked entities or None) of a wording's questions.

    The gold fact that links the two entities is asked for where it is gold, as all others.

    Args:
        package: a benchmark of graphs.
        wording: ``specific`` or ``general``, whose table of questions is read.
    """
    gold = by_query(package.gold.to_pylist())
    full = by_query(package.context_table("full").to_pylist())
    for query, text, metadata in rows_of(package.forms[wording], "_id", "text", "metadata"):
        about = json.loads(metadata or "{}")
        names = dict(zip(about.get("entities") or (), about.get("names") or (), strict=False))
        triples = [from_row(t) for row in full[query] for t in row["triples"]]
        facts = [from_row(row) for row in gold.get(query, ())]
        link = _find_link([*facts, *triples], names, about.get("relation"))
        graphs = {g.qid: g for g in group_into_graphs(triples)}
        ends = [graphs[q] for q in names if q in graphs]
        pair = EntityPair(ends[0], ends[1], link) if link and len(ends) == 2 else None
        yield query, QuestionToCheck(text, tuple(facts), tuple(triples), link, wording), pair


def _find_link(
    triples: list[Triple], entities: dict[str, str], relation: str | None
) -> Triple | None:
    """Find the triple that links two entities, preferably by ``relation``; None without any."""
    links = [t for t in triples if t.connects(entities)]
    return next((t for t in links if t.relation == relation), next(iter(links), None))
