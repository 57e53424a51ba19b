"""Reader of a document in any tool's shape as a source: its text, ids, title and address."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from citeforge.plugins.responses.placing.records import CitedSource
from citeforge.plugins.responses.vendors.values import Node, camel_case, parsed
from citeforge.schemas.errors import InputError

_WRAPPERS = (
    "kwargs node document tool_output init_parameters web retrieved_context maps image "
    "url_citation file_citation internal"
).split()
"""Names under which tools put the document itself."""
_METADATA = "metadata", "meta", "extra_info", "custom_metadata"
_TEXT = "page_content | text | content | contents | snippet | document_content | body | chunk"
_TITLE = "title | document_title | name | filename | file_name"
_URL = (
    "url | uri | link | href | location.%.uri | location.%.url | source | "
    "x-amz-bedrock-kb-source-uri"
)
_IDS = (
    "_id docid doc_id document_id passage_id id id_ node_id ref_doc_id filename file_name file_id "
    "filepath"
).split()
_FILE = "filename | file_name | filepath"
_INDEX = "document_index | search_result_index | location.%.document_index"
_ENDING = re.compile(r"(?<=.)\.[A-Za-z][A-Za-z0-9]{0,4}\Z")
_MADE_UP = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32,}", re.IGNORECASE)
"""Ids that vector stores make: no passage of a benchmark has one."""
_SAVED_AS_TEXT = re.compile(
    r"\(?(?:Document\()?page_content=|<?Document\(|NodeWithScore\(|Node ID:"
)


def read_source(node: Node, must_be_whole: bool = False) -> CitedSource:
    """Read a cited source from a document, or from its text or address alone.

    Args:
        node: the document.
        must_be_whole: refuse a document that has neither a text nor an id.

    Raises:
        InputError: it is no document, or was saved as the text of a Python object.
    """
    if isinstance(node.value, str):
        return _from_text(node.value, node.place, must_be_whole)
    if not isinstance(node.value, dict):
        node.fail_type("a document: an object with its text, or the text")
    outer, inner = _unwrapped(node.value)
    own, metadata = Node({**outer, **inner}, node.place), Node(_metadata(outer, inner))
    text = own.first(_TEXT)
    if text is not None and isinstance(text.value, dict):
        text = text.first("text | value") or text
    text = text or own.first("text_resource.text | data.text | document")
    if text is not None and isinstance(text.value, list):  # Open WebUI: chunks of one source
        text = Node("\n".join(str(n.value) for n in text.items()), text.place)
    if text is not None and not isinstance(text.value, str):
        text.fail_type("the text of the document")
    url = next((u for n in (own, metadata) if (u := _address(n))), "")
    title = next((str(t.value) for n in (own, metadata) if (t := n.first(_TITLE))), "")
    ids = tuple(dict.fromkeys(_ids(own, metadata, url, title)))
    if must_be_whole and text is None and not ids:
        raise InputError(
            "has no text", field=node.place, allowed="a document with its text as text, "
            "page_content, pageContent, content, contents or snippet", code="missing-field"
        )  # fmt: skip
    index = own.number(_INDEX)
    return CitedSource(ids, title, url, "" if text is None else text.value, index)


def _from_text(text: str, place: str, must_be_whole: bool) -> CitedSource:
    """Make a source from a document that is a plain text or an address."""
    if must_be_whole and _SAVED_AS_TEXT.match(text):
        raise InputError(
            "is a Python object saved with str()", field=place,
            allowed="the document as an object: save document.model_dump() or to_dict()",
            code="wrong-type"
        )  # fmt: skip
    if re.fullmatch(r"https?://\S+", text):
        return CitedSource((text,), url=text)
    return CitedSource(text=text)


def _unwrapped(value: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split a document's fields: (fields of its wrapper, fields of the document inside it)."""
    outer = dict(value)
    if outer.get("lc"):  # LangChain's dump: `id` names the class
        outer.pop("id", None)
    inner: dict[str, Any] = {}
    for name in _WRAPPERS:
        for spelled in (name, camel_case(name)):
            if isinstance(value.get(spelled), dict):
                more = _unwrapped(value[spelled])
                inner |= {**more[0], **more[1]}
                outer.pop(spelled, None)
    return outer, inner


def _metadata(*documents: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the metadata objects of some documents into one."""
    merged: dict[str, Any] = {}
    for document in documents:
        for name in _METADATA:
            value = parsed(document.get(name))
            merged |= value if isinstance(value, dict) else {}
    return merged


def _address(node: Node) -> str:
    """Find the address of a document; empty without one."""
    addresses = (n.value for path in _URL.split("|") for n in node.each(path))
    return next(
        (a for a in addresses if isinstance(a, str) and re.match(r"(?:https?|s3|gs)://", a)), ""
    )


def _ids(own: Node, metadata: Node, url: str, title: str) -> Iterator[str]:
    """List candidates for the id of a passage, the surest first."""
    ids = [str(n.value) for node in (own, metadata) for name in _IDS for n in node.each(name)
           if isinstance(n.value, str | int)]  # fmt: skip
    ids += [str(n.value).rpartition("/")[2] for n in own.each("document_name")]
    ids += [n.value for n in own.each("relationships.1.node_id") if isinstance(n.value, str)]
    files = [_ENDING.sub("", str(n.value)) for node in (own, metadata) for n in node.each(_FILE)]
    sources = [str(n.value) for node in (own, metadata) for n in node.each("source")]
    yield from (i for i in [*files, *ids] if i and not _MADE_UP.fullmatch(i))
    yield from (i for i in (url, *sources, title) if i)
    yield from (i for i in ids if i and _MADE_UP.fullmatch(i))
