"""Names of systems, measures and data sets show as they are in every format of reports."""

import csv
import io
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

import citeforge as cf
from citeforge.builders.card import render_card
from citeforge.engines.markdown import markdown_block, markdown_code, markdown_text
from citeforge.engines.report_table import MarkedCell, Table
from citeforge.evaluator.compare import compare_many
from citeforge.package.manifest import load_intact
from citeforge.reports import markdown
from citeforge.reports.comparison import describe_comparison
from citeforge.reports.gate_outputs import to_junit
from citeforge.reports.gate_outputs import to_markdown as gate_markdown
from citeforge.reports.pages.comparison import comparison_page
from citeforge.reports.pages.formats import render_table
from citeforge.reports.pages.robustness_report import write_robustness
from citeforge.reports.paper import paper_table
from citeforge.schemas.recipes.command_options import TableOptions
from citeforge.schemas.scores import ScoreFile
from conftest_plots import scored

HOSTILE = (
    "`a` and ``b``", "<img src=x onerror=alert(1)>", "[x](javascript:alert(1))", "a | b \\| c",
    "![x](http://e.org/p)", "**bold** and __bold__ and *em* and _em_", "two\nlines\r\n\n# heading",
    "$x^2$ and $$y$$", "a\\*b\\", "# heading", "- item", "+ item", "* item", "> quote", "1. item",
    "1) item", "---", "===", "~~gone~~", "~~~", "@someone and x@example.org", "www.example.org",
    "https://example.org/a_b", "<https://example.org>", "&lt;b&gt; &amp; &#60;", "[x][y]", "[^1]",
    "[x]: http://example.org", "<!-- gone -->", "```", "=1+1", "a_b_c", "CiteF1@query [1, 2]", "|",
    "{{ 7 * 7 }}", "# {#id}", "\\",
)  # fmt: skip
OWN = {"strong", "table", "thead", "tbody", "tr", "th", "td", "paragraph", "heading", "bullet_list",
       "list_item"}  # fmt: skip
"""Marks that reports set themselves."""


def shown(text: str, markdown: str, marks: set[str] = OWN) -> list[str]:
    """The texts of all places that a reader of GitHub's Markdown sees; none has foreign marks."""
    parser = MarkdownIt("gfm-like")
    parser.linkify.set({"fuzzy_link": False})  # GitHub makes no link of `main.md`
    found: list[str] = []

    def see(tokens: Sequence[Token]) -> None:
        for token in tokens:
            name = re.sub("_(open|close)$", "", token.type)
            if token.type == "inline":
                see(token.children or [])
                found.append("".join(t.content for t in token.children or []))
            elif token.type in ("text", "text_special", "code_inline", "softbreak"):
                continue
            else:
                assert name in marks, (text, name, markdown)

    see(parser.parse(markdown))
    return [part.replace("\u200d", "") for part in found]


def as_shown(name: str) -> str:
    return " ".join(name.split())


def files_named(name: str) -> list[ScoreFile]:
    low = [0.1, 0.2, 0.1, 0.3, 0.2, 0.1, 0.2, 0.3, 0.1, 0.2]
    files = [scored(name, {"CiteP": low}), scored("other", {"CiteP": [v + 0.5 for v in low]})]
    return [file.model_copy(update={"benchmark": name}) for file in files]


def of_gate(files: list[ScoreFile]) -> str:
    decision = cf.gate(cf.Scores(files[0]), [cf.Scores(files[1])], policy={})
    return gate_markdown(decision).replace("### ", "# ")


WRITERS: dict[str, Callable[[list[ScoreFile]], str]] = {
    "report": lambda files: render_table("md", files),
    "comparison": lambda files: markdown.write_comparison(describe_comparison(compare_many(files))),
    "paper": lambda files: markdown.write_paper(paper_table(files, TableOptions())),
    "robustness": lambda files: write_robustness(
        [*files, *(f.model_copy(update={"protocol": "reference", "measures": [
            m.model_copy(update={"signature": m.signature.replace("p:strict", "p:reference")})
            for m in f.measures]}) for f in files)], "md", None, []).decode(),
}  # fmt: skip


@pytest.mark.parametrize("writer", WRITERS)
def test_a_system_shows_as_it_is_named_in_markdown(writer: str) -> None:
    for name in HOSTILE:
        parts = shown(name, WRITERS[writer](files_named(name)))
        assert any(as_shown(name) in part for part in parts), (name, parts)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_text_shows_as_it_is_in_each_place(name: str) -> None:
    plain = markdown_text(name)
    assert "www." not in plain
    table = Table([name, "n"], [[name, MarkedCell(name, is_bold=True, mark="†")]]).markdown()
    for place in (plain, f"- {plain}", f"# {plain}", f"x {plain} y", table):
        assert as_shown(name) in " ".join(shown(name, place))
    code = MarkdownIt("gfm-like").parse(f"- {markdown_code(name)} and so on")
    (inline,) = (token for token in code if token.type == "inline")
    assert inline.children is not None
    assert inline.children[0].content == as_shown(name)
    (block,) = MarkdownIt("gfm-like").parse(markdown_block(name, "text"))
    assert (block.type, block.content.splitlines()) == ("fence", name.splitlines())


@given(st.text(st.sampled_from("`*_[]()<>!|\\~$#-+=.1&;:@ ahw/\n")))
def test_any_text_shows_as_it_is(name: str) -> None:
    text = f"x {name} y"
    assert shown(name, markdown_text(text)) == [as_shown(text)]
    assert shown(name, Table(["a"], [[text]]).markdown()) == ["a", as_shown(text)]


def test_values_and_names_of_measures_stay_readable() -> None:
    for text in ("12.50 [10.00, 15.00]", "CiteF1@query", "a_b", "top-1", "−0.50", "-0.50", "95 %",
                 "ALCE.CitRec (mix)", "≤ 3", "a: b", "x, y.", "“x”"):  # fmt: skip
        assert markdown_text(text) == text


def test_a_decision_of_the_gate_shows_names_as_they_are() -> None:
    for name in HOSTILE:
        shown(name, of_gate(files_named(name)))


def test_a_card_shows_what_comes_from_outside_as_it_is(package: Path) -> None:
    manifest = load_intact(package)
    for name in HOSTILE:
        source = manifest.sources[0].model_copy(update={"licence": name, "spec": f"beir:{name}"})
        contexts = {n: c.model_copy(update={"description": name})
                    for n, c in manifest.contexts.items()}  # fmt: skip
        changed = {"name": name, "sources": [source], "contexts": contexts, "warnings": [name],
                   "counts": {name: 1}, "models": {"judge": {"name": name, "x": name}}}  # fmt: skip
        card = render_card(manifest.model_copy(update=changed), {}, {})
        _, _, body = card.partition("\n---\n")
        parts = shown(name, body, OWN | {"fence"})
        assert sum(as_shown(name) in part for part in parts) >= 5, (name, parts)
        assert "pretty_name" in card.partition("\n---\n")[0]


def test_latex_has_no_command_of_a_name() -> None:
    for name in HOSTILE:
        row = Table(["x", "n"], [[name, 1]]).latex()[4]
        bare = re.sub(r"\\(?:text[a-z]+\{\}|[&%$#_{}])|\{\}|\$-\$", "", row.removesuffix(r"& 1 \\"))
        assert not set(bare) & set("\\&%$#_{}~^\n\r"), (name, row)
        assert not row.startswith(("[", "*"))


def test_csv_has_no_formula_and_html_no_tag() -> None:
    for name in HOSTILE:
        rows = list(csv.DictReader(io.StringIO(render_table("csv", files_named(name)))))
        assert rows[0]["system"].removeprefix("'") == name
        assert not rows[0]["system"].startswith(("=", "+", "-", "@", "\t", "\r"))
        page = comparison_page(describe_comparison(compare_many(files_named(name))))
        assert not re.search(r"<img|<!-- gone|<https", page)


def test_junit_is_xml_with_any_name() -> None:
    for name in (*HOSTILE, "\x00\x1b[31m\ufffe", "\ud800"):
        files = files_named(name)
        decision = cf.gate(cf.Scores(files[0]), [cf.Scores(files[1])], policy={})
        ElementTree.fromstring(to_junit(decision))
