"""Search for the query that an answer in another tool's file is about."""

from citeforge.evaluator.submissions.benchmark import Benchmark, question_key
from citeforge.schemas.errors import InputError
from citeforge.schemas.text import printable


class QueryFinder:
    """Finds the queries that files of other tools answer, by their ids, else by their texts."""

    def __init__(self, benchmark: Benchmark) -> None:
        """Index the queries of a benchmark by id and by text."""
        self._known = benchmark.row_of
        self._by_text: dict[str, list[str]] = {}
        texts: list[str] = benchmark.queries["text"].to_pylist()
        for text, query in zip(texts, benchmark.query_ids, strict=True):
            self._by_text.setdefault(question_key(text), []).append(query)

    def knows(self, name: object) -> bool:
        """Whether the benchmark has a query with this id (a text or a number)."""
        return type(name) in (str, int) and str(name) in self._known

    def find_id(self, given_id: str | int | None, text: str) -> str:
        """Find the id of a query by the id that is given, else by the text of its question.

        Questions are equal that differ in white space or Unicode's normal form alone. Of an unknown
        question the given id, or the question's start, is returned; it is refused later.

        Raises:
            InputError: several queries ask the question.
        """
        own = None if given_id is None else str(given_id)
        if own is not None and own in self._known:
            return own
        queries = self._by_text.get(question_key(text), [])
        if len(queries) > 1:
            raise InputError(
                f"{len(queries)} queries ask {printable(text[:60])}: {', '.join(queries[:5])}",
                field="question",
                allowed='the id of the query as "query_id"',
                code="ambiguous-query",
            )
        return queries[0] if queries else own or text[:60]
