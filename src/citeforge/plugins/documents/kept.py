"""Questions of an earlier package whose evidence is in the new documents, too."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from citeforge.engines.tables import iter_batches, rows_of
from citeforge.package.package import Package
from citeforge.plugins.documents.corpus import PassagePool
from citeforge.plugins.documents.design import SEED
from citeforge.plugins.documents.question_specs import QuestionSpec
from citeforge.plugins.documents.questions import Evidence, Question
from citeforge.plugins.documents.recipe import DocumentsRecipe
from citeforge.schemas.counts import count_key

_OF_CONTEXTS = ("seed", "embedder", "embedder_revision", "mining", "mixtures", "decided")
_CHANGED, _UNWANTED = "a passage of the evidence changed or is missing", "the design asks for fewer"


def has_same_contexts(recipe: DocumentsRecipe, old: Package) -> bool:
    """Whether a recipe's options on contexts equal those of an earlier package.

    If not, the package's questions may be kept, but not its contexts.
    """
    mine, theirs = recipe.recorded(), old.manifest.config
    return all(mine[name] == theirs.get(name) for name in _OF_CONTEXTS)


def read_kept_questions(
    old: Package,
    passages: PassagePool,
    numbers_by_spec: Mapping[QuestionSpec, int],
    counts: dict[str, int],
) -> list[Question]:
    """Read a package's accepted questions whose evidence still exists; add others to ``counts``.

    Evidence is found by title and text: ids of passages change when a file gets another page.
    Other passages that answer, and rejections, are left to the checks. Seeds are found anew.

    Args:
        old: the earlier package.
        passages: passages of the new corpus.
        numbers_by_spec: number of questions wanted, by form, user and topic.
        counts: questions that are not kept are counted by reason.
    """
    rows = [row for row in old.written_questions().to_pylist() if row["accepted"]]
    rows = [row for row in rows if row["form"] != SEED]
    texts = old.texts(name for row in rows for name in row["evidence"])
    found = dict(_find_evidence(passages, set(texts.values())))
    by_names = {_name_spec(spec): spec for spec in numbers_by_spec}
    left, kept, gone = dict(numbers_by_spec), list[Question](), Counter[str]()
    for row in rows:
        spec = by_names.get((row["form"], row["user"], row["topic"]))
        evidence = [found.get(texts[name]) for name in row["evidence"]]
        if None in evidence:
            gone[_CHANGED] += 1
        elif spec is None or not left[spec]:
            gone[_UNWANTED] += 1
        else:
            left[spec] -= 1
            kept.append(_read_question(row, spec, tuple(e for e in evidence if e is not None)))
    for why, n in gone.items():
        counts[count_key("questions_not_kept", why)] = n
    return kept


def _name_spec(spec: QuestionSpec) -> tuple[str, str | None, str | None]:
    """Get the names (question form, user group, topic) of a question specification."""
    return spec.form.name, None if spec.user is None else spec.user.name, spec.topic


def _find_evidence(
    passages: PassagePool, wanted: set[tuple[str, str]]
) -> Iterator[tuple[tuple[str, str], Evidence]]:
    """Yield ((title, text), passage) for corpus passages with wanted titles and texts."""
    for batch in iter_batches(passages.corpus, ["_id", "title", "text"]):
        for name, title, text in rows_of(batch):
            if (title, text) in wanted:
                yield (title, text), Evidence(name, title, text)


def _read_question(
    row: Mapping[str, Any], spec: QuestionSpec, evidence: tuple[Evidence, ...]
) -> Question:
    """Make a question from its row in an earlier package, with evidence of the new corpus."""
    return Question(
        row["_id"], spec, evidence, row["question"], list(row["answers"]), row["statement"],
        list(row["quotes"]), row["premise"] or "", row["corrected"] or "",
    )  # fmt: skip
