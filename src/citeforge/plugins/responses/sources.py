"""Reader of a document in any tool's shape as a source: its text, ids, title and address."""

import re
from collections.abc import Iterator, Mapping
from heapq import nlargest
from typing import Any

from citeforge.plugins.responses.layout import declarations
from citeforge.plugins.responses.records import CitedSource
from citeforge.plugins.responses.values import Node, parse_text
from citeforge.schemas.errors import InputError

_ENDING = re.compile(r"(?<=.)\.[A-Za-z][A-Za-z0-9]{0,4}\Z")
_MADE_UP = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32,}", re.IGNORECASE)
"""Ids that vector stores make: no passage of a benchmark has one."""
_LOOKED_UP = 8
"""Texts of a list, the longest, of which none is in the answer where the list has documents."""
_SAVED_AS_TEXT = re.compile(
    r"\(?(?:Document\()?page_content=|<?Document\(|NodeWithScore\(|Node ID:"
)


def read_source(node: Node, needs_content: bool = False) -> CitedSource:
    """Read a cited source from a tool's JSON document, which may need a text or an id.

    Args:
        node: the document.
        needs_content: refuse a document that has neither a text nor an id.

    Raises:
        InputError: it is no document, or was saved as the text of a Python object.
    """
    if isinstance(node.value, str):
        return _source_from_text(node.value, node.json_path, needs_content)
    if not isinstance(node.value, dict):
        node.fail_type("a document: an object with its text, or the text")
    paths, (outer, inner) = declarations().document, _unwrap(node.value)
    document, metadata = (
        Node({**outer, **inner}, node.json_path),
        Node(_merge_metadata(outer, inner)),
    )
    text = document.first(paths.text)
    if text is not None and isinstance(text.value, list):  # Open WebUI: chunks of one source
        text = Node("\n".join(str(n.value) for n in text.items()), text.json_path)
    if text is not None and not isinstance(text.value, str):
        text.fail_type("the text of the document")
    url = next((u for n in (document, metadata) if (u := _find_address(n))), "")
    title = next((str(t.value) for n in (document, metadata) if (t := n.first(paths.title))), "")
    ids = tuple(dict.fromkeys(_possible_ids(document, metadata, url, title)))
    if needs_content and text is None and not ids:
        raise InputError(
            "has no text", field=node.json_path, allowed="a document with its text as text, "
            "page_content, pageContent, content, contents or snippet", code="missing-field"
        )  # fmt: skip
    index = document.number(paths.index)
    return CitedSource(ids, title, url, "" if text is None else text.value, index)


def find_documents(node: Node, answer: str = "", search_items: bool = False) -> Node | None:
    """Find a list of documents (texts not in the answer) in a JSON value, perhaps in list items.

    Args:
        node: the value.
        answer: the answer; lists of its parts are no documents.
        search_items: whether to look inside items of lists, too: outputs of tools, but also logs.
    """
    paths, items = declarations().document, node.items() if isinstance(node.value, list) else []
    documents = [item for item in items if not item.has(paths.message)]
    inner = (
        {**o, **i} for d in documents if isinstance(d.value, dict) for o, i in [_unwrap(d.value)]
    )
    texts = [text.value for fields in inner for text in Node(fields).each(paths.text)[:1]]
    are_texts = all(isinstance(text, str) for text in texts)
    longest = nlargest(_LOOKED_UP, texts, key=len) if are_texts else []
    are_other = are_texts and all(text not in answer for text in longest)
    if items and len(texts) == len(items) and are_other:
        return node
    deeper = [*node.each("%"), *(documents if search_items else ())]
    found = (find_documents(inner, answer, search_items) for inner in deeper)
    return next(filter(None, found), None)


def _source_from_text(text: str, field: str, refuses_repr: bool) -> CitedSource:
    """Make a cited source from a plain text or URL; refuse ``str()`` of an object if asked.

    Args:
        text: the document.
        field: its path in the line, for errors.
        refuses_repr: whether the text of a Python object is refused.
    """
    if refuses_repr and _SAVED_AS_TEXT.match(text):
        raise InputError(
            "is a Python object saved with str()", field=field,
            allowed="the document as an object: save document.model_dump() or to_dict()",
            code="wrong-type"
        )  # fmt: skip
    if re.fullmatch(r"https?://\S+", text):
        return CitedSource((text,), url=text)
    return CitedSource(text=text)


def _unwrap(document: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split a document's JSON: (fields of its wrapper, fields of the document inside).

    Args:
        document: the document, whose fields may be in an object inside it, such as ``node``.
    """
    outer = dict(document)
    if outer.get("lc"):  # LangChain's dump: `id` names the class
        outer.pop("id", None)
    inner: dict[str, Any] = {}
    for name in declarations().document.wrappers:
        for node in Node(document).each(name):
            if isinstance(node.value, dict):
                more = _unwrap(node.value)
                inner |= {**more[0], **more[1]}
                outer.pop(node.json_path, None)
    return outer, inner


def _merge_metadata(*documents: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the metadata of a document and its wrapper into one object."""
    merged: dict[str, Any] = {}
    for document in documents:
        for name in declarations().document.metadata:
            value = parse_text(document.get(name))
            merged |= value if isinstance(value, dict) else {}
    return merged


def _find_address(node: Node) -> str:
    """Find the URL (https, s3, gs) of a document; empty if it has none."""
    addresses = (n.value for path in declarations().document.urls for n in node.each(path))
    return next(
        (a for a in addresses if isinstance(a, str) and re.match(r"(?:https?|s3|gs)://", a)), ""
    )


def _possible_ids(document: Node, metadata: Node, url: str, title: str) -> Iterator[str]:
    """Yield a document's possible passage ids (file name, id, URL, title), most likely first.

    Args:
        document: fields of the document.
        metadata: its metadata.
        url: its address, if any.
        title: its title, if any.
    """
    paths, both = declarations().document, (document, metadata)
    found = [n.value for node in both for name in paths.ids for n in node.each(name)]
    ids = [str(value) for value in found if isinstance(value, str | int)]
    ids += [str(n.value).rpartition("/")[2] for n in document.each("document_name")]
    ids += [n.value for n in document.each("relationships.1.node_id") if isinstance(n.value, str)]
    files = [_ENDING.sub("", str(n.value)) for node in both for n in node.each(paths.file)]
    sources = [str(n.value) for node in both for n in node.each("source")]
    yield from (i for i in [*files, *ids] if i and not _MADE_UP.fullmatch(i))
    yield from (i for i in (url, *sources, title) if i)
    yield from (i for i in ids if i and _MADE_UP.fullmatch(i))
