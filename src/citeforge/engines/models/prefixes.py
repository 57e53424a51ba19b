"""Prefixes (prompts) that embedding models expect before queries and passages."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from citeforge.engines.files import read_json
from citeforge.engines.models.embedder import Role
from citeforge.schemas.errors import InputError

_TASK = "Given a web search query, retrieve relevant passages that answer the query"
"""The task that the authors of e5 evaluate retrieval with (Wang et al. 2024, table 14)."""
_E5 = ("query: ", "passage: ")
_INSTRUCTED = (f"Instruct: {_TASK}\nQuery: ", "")
_SEARCHING = ("Represent this sentence for searching relevant passages: ", "")
_NOMIC = ("search_query: ", "search_document: ")
_BY_MODEL = {
    **dict.fromkeys(
        "e5-small e5-base e5-large e5-small-v2 e5-base-v2 e5-large-v2 multilingual-e5-small "
        "multilingual-e5-base multilingual-e5-large".split(),
        _E5,
    ),
    **dict.fromkeys("multilingual-e5-large-instruct e5-mistral-7b-instruct".split(), _INSTRUCTED),
    **dict.fromkeys(
        "bge-small-en bge-base-en bge-large-en bge-small-en-v1.5 bge-base-en-v1.5 "
        "bge-large-en-v1.5 mxbai-embed-large-v1 snowflake-arctic-embed-xs "
        "snowflake-arctic-embed-s snowflake-arctic-embed-m snowflake-arctic-embed-l".split(),
        _SEARCHING,
    ),
    **dict.fromkeys("nomic-embed-text-v1 nomic-embed-text-v1.5".split(), _NOMIC),
}
"""Prefixes of models without prompts of their own, from their pages; names without owner."""
_OF_QUERIES = ("query", "search_query", "s2p_query", "retrieval.query", "web_search_query")
_OF_PASSAGES = ("document", "passage", "corpus", "search_document", "retrieval.passage")
"""Names of prompts in sentence-transformers' files."""


@dataclass(frozen=True)
class Prefixes:
    """Prefixes that a model expects before its texts (e5: ``query: `` and ``passage: ``).

    Attributes:
        query: before queries.
        passage: before passages.
        origin: where they come from: the user (``given``), the model's own file, the table of
            known models, or nowhere.
    """

    query: str = ""
    passage: str = ""
    origin: Literal["given", "model", "table", "none"] = "none"

    def get(self, kind: Role) -> str:
        """Get the prefix of queries or of passages."""
        return {"query": self.query, "passage": self.passage}[kind]

    def facts(self) -> dict[str, str]:
        """Describe the texts put before queries and passages, for fingerprints of vectors."""
        return {
            "query_prefix": self.query, "passage_prefix": self.passage, "prefixes": self.origin
        }  # fmt: skip


def find_prefixes(name: str, folder: Path | None = None) -> Prefixes:
    """Find a model's prefixes: those of its own file, else those of a table of known models.

    Args:
        name: Hub id, or folder that is named as the model.
        folder: with the model's files; None where there are none, as of a server.

    Raises:
        InputError: the model's file of prompts is damaged.
    """
    own = None if folder is None else _own_prompts(folder / "config_sentence_transformers.json")
    if own is not None:
        return own
    known = _BY_MODEL.get(Path(name.rpartition(":")[2]).name.lower())
    return Prefixes() if known is None else Prefixes(*known, "table")


def _own_prompts(path: Path) -> Prefixes | None:
    """Read a model's prefixes for queries and passages from its prompt file; None without.

    Returns:
        Both prefixes; None if the file is missing or names none.
    """
    if not path.is_file():
        return None
    content = read_json(path)
    prompts: Any = content.get("prompts") if isinstance(content, dict) else None
    if not prompts:
        return None
    if not isinstance(prompts, dict) or not all(isinstance(p, str) for p in prompts.values()):
        raise InputError(
            "has prompts that are no texts by name",
            path=path,
            field="prompts",
            allowed='{"query": "…", "document": "…"}',
            code="wrong-value",
        )
    query, passage = (
        next((prompts[n] for n in names if n in prompts), "")
        for names in (_OF_QUERIES, _OF_PASSAGES)
    )
    return Prefixes(query, passage, "model") if query or passage else None
