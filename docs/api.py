"""Renders the reference of what ``import citeforge`` offers, with griffe2md."""

import re
from pathlib import Path

import griffe
from griffe2md import ConfigDict, render_object_docs

import citeforge
from citeforge.cli.catalogue import fill_names

_CONFIG: ConfigDict = {
    "docstring_section_style": "list",
    "filters": [r"!^_(?!_call__)"],
    "heading_level": 3,
    "inherited_members": True,
    "members_order": "source",
    "merge_init_into_class": True,
    "separate_signature": True,
    "show_if_no_docstring": False,
    "show_object_full_path": False,
    "show_root_full_path": False,
    "show_signature_annotations": True,
    "summary": False,
}
_DOUBLE = re.compile(r"(?<!`)``(?!`)")
_PATH = re.compile(r"^(#+ `)citeforge\.[\w.]*\.(\w+`)$", re.MULTILINE)
# How a field is checked and said on the command line is no part of its type.
_METADATA = re.compile(r"Annotated\[(.*?)(?:, (?:[A-Z_]+|\w+\(.*?\)))+\]")
_FIELD = re.compile(r"(?<=```python\n)\w+: .*(?=\n```)")
_LINK = re.compile(r"\[([^\[\]]*)\]\(#[^()]*\)")


def api_page() -> str:
    """Every public name, in alphabetical order within functions, classes and errors."""
    source = Path(citeforge.__file__).parent.parent
    loader = griffe.GriffeLoader(
        docstring_parser="google",
        docstring_options={"returns_multiple_items": False},
        search_paths=[source],
    )
    package = loader.load("citeforge")
    loader.resolve_aliases(implicit=False, external=False)
    parts = [
        "# Python\n\n`import citeforge as cf`; each name is imported on first use. "
        "[library.md](library.md) shows them at work.\n"
    ]
    names = [n for n in citeforge.__all__ if not n.startswith("_")]
    errors = [n for n in names if n.endswith("Error")]
    public = [n for n in names if n not in errors]
    for title, names, home in (
        ("Functions", [n for n in public if n.islower()], package),
        ("Classes", [n for n in public if not n.islower()], package),
        ("Errors", errors, package["schemas.errors"]),
    ):
        parts.append(f"\n## {title}\n")
        for name in names:
            found = home[name]
            target = found.final_target if found.is_alias else found
            # Its links lead to anchors that a page of ours does not have.
            text = _LINK.sub(r"\1", render_object_docs(target, _CONFIG))
            text = _FIELD.sub(lambda m: _METADATA.sub(r"\1", m[0]).replace("'", '"'), text)
            parts.append("\n" + _PATH.sub(r"\1\2", _DOUBLE.sub("`", text)).strip() + "\n")
    return fill_names("".join(parts))
