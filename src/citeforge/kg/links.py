"""Links from the names in a file's questions to entities of a graph: ``citeforge kg link``."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from citeforge.engines.files import write_text
from citeforge.engines.jsonlines import read_rows
from citeforge.ir_convert.beir import BeirQuery
from citeforge.ir_convert.kalma import read_entries
from citeforge.kg.link import Link, Linker, LinkQuality, linking_quality


@dataclass(frozen=True)
class Questions:
    """Questions of a file, with the entities that each should lead to if the file has them.

    Attributes:
        ids: ids of the questions.
        texts: texts of the questions.
        expected: entities that each question should lead to; None if the file has none.
    """

    ids: list[str]
    texts: list[str]
    expected: list[set[str]] | None


def read_questions(path: Path) -> Questions:
    """Read questions from a file of BEIR (JSON Lines) or BioKaLMA (JSON with sub-graphs).

    Raises:
        InputError: a line or an item is wrong.
    """
    if path.suffix == ".json":
        items = read_entries(path)
        ids = [str(i) for i in range(1, len(items) + 1)]
        expected = [{g.qid for g in i.graphs} for i in items]
        return Questions(ids, [i.question for i in items], expected)
    rows = [row for _, row in read_rows(path, BeirQuery)]
    return Questions([str(r.id) for r in rows], [r.text for r in rows], None)


def link_questions(
    questions: Questions, linker: Linker, out: Path | None = None
) -> tuple[list[list[Link]], LinkQuality | None]:
    """Link names in questions, also to file ``out``: (links per question, quality or None).

    Args:
        questions: result of :func:`read_questions`.
        linker: finds names and looks them up.
        out: JSON Lines file of links to write.

    Returns:
        (names in each question with their candidates, recall and precision or None if the file has
        no expected entities).

    Raises:
        InputError: the graph or the spaCy model is not available.
    """
    links, _ = linker.link(questions.texts)
    if out is not None:
        rows = (
            {"_id": name, "links": [asdict(link) for link in mine]}
            for name, mine in zip(questions.ids, links, strict=True)
        )
        write_text(out, "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows))
    expected = questions.expected
    return links, None if expected is None else linking_quality(links, expected)
