"""Cards from what is known, kept sections, licences; Croissant read by its own library."""

import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from markdown_it import MarkdownIt

from citeforge.builders.card import bars, render_card
from citeforge.builders.changes import make_build_command
from citeforge.builders.licences import (
    conflicts,
    licence_words,
    most_restrictive,
    restrictiveness,
)
from citeforge.builders.verify import verify
from citeforge.ir_convert.registry import SOURCES
from citeforge.package.manifest import load_intact
from citeforge.publishing.card import _describe_columns, write_card
from citeforge.publishing.hidden import split_package
from citeforge.schemas.manifest import Manifest
from citeforge.schemas.sources import SourceInfo, without_folders
from conftest import EXAMPLES, Inline, content, refused


@pytest.fixture
def folder(package: Path, tmp_path: Path) -> Path:
    shutil.copytree(package, tmp_path / "facts")
    return tmp_path / "facts"


def test_the_card_says_what_is_known(folder: Path, inline: Inline) -> None:
    (folder / "card.md").write_text("## Who made it\n\nWe did.\n")
    inline.ok("run", "random", "--benchmark", "facts", "--out", "r.jsonl")
    answers = folder.parent / "r.jsonl"
    header, *lines = answers.read_text().splitlines()
    lines[1] = json.dumps(json.loads(lines[1]) | {"output": "The passages do not say when."})
    answers.write_text("\n".join([header, *lines[1:]]) + "\n")
    inline.ok("score", "r.jsonl", "--benchmark", "facts", "--out", "r.json")
    inline.ok("export", "card", folder, "--scores", "r.json", "--version", "1.2.0")
    n = len(lines) - 1
    assert verify(folder) == []
    text = (folder / "README.md").read_text()
    front = yaml.safe_load(text.split("---")[1])
    assert front["size_categories"] == ["n<1K"]
    assert {c["config_name"] for c in front["configs"]} == {
        "contexts", "corpus", "cosines", "mapping", "queries",
    }  # fmt: skip
    for part in ("We did.", "Version 1.2.0", "## Reference scores",
                 "- random: 1 answer missing, with the worst value each",
                 f"- random: 1 of {n} answers cite nothing",
                 f"- random: 1 of {n} answers say that they cannot answer",
                 "| measure | random (control), mix |",
                 "not audited", "@inproceedings{penzkofer2024rage",
                 "words per passage | "):  # fmt: skip
        assert part in text
    # Rendered again, the hand-written part and the scores stay.
    again = write_card(folder)
    assert (folder / "README.md").read_text() == text
    assert again.version == "1.2.0"
    assert inline("export", "card", folder, "--version", "two").code == "bad-option"


def test_a_card_that_was_changed_by_hand_is_not_written_over(folder: Path, inline: Inline) -> None:
    card = folder / "README.md"
    card.write_text(f"{card.read_text()}\nMy own words.\n")
    result = inline.fails(1, "hash-mismatch", "export", "card", folder)
    assert "was changed by hand; your text in card.md beside it" in result.stderr
    assert card.read_text().endswith("My own words.\n")
    card.unlink()
    (folder / "card.md").write_text("My own words.\n")
    inline.ok("export", "card", folder)
    assert "My own words." in card.read_text()
    assert verify(folder) == []


def test_a_damaged_audit_is_not_rendered(folder: Path) -> None:
    write_card(folder)
    with refused("missing-field", path=folder / "audit.json"):
        write_card(folder, audit='{"flaws": {}, "false_negatives": "few"}')


@pytest.mark.slow
def test_the_command_in_the_card_makes_the_same_benchmark(
    folder: Path, kalma_package: Path, inline: Inline, tmp_path: Path
) -> None:
    (tmp_path / "examples").symlink_to(EXAMPLES)
    inline.ok(
        *("build", "rage", "--source", "beir:examples/facts", "--embedder", "offline"),
        *("--limit", "12", "--seed", "5", "--n-seemingly", "4", "--mixture", "a=1,2,2"),
        *("--mixture", "b=2,0,1", "--corpus", "pool", "--base", "0", "--out", "one"),
    )
    words = shlex.split(make_build_command(load_intact(tmp_path / "one")))
    assert words[:3] == ["citeforge", "build", "rage"]
    inline.ok(*words[1:-1], "two")
    one, two = load_intact(tmp_path / "one"), load_intact(tmp_path / "two")
    assert one.benchmark_hash == two.benchmark_hash
    assert "--pairs-from-kg father" in make_build_command(load_intact(kalma_package))
    args = ("build", "authorship", "--benchmark", "one", "--k", "3", "--out", "a")
    inline.ok(*args)
    words = shlex.split(make_build_command(load_intact(tmp_path / "a")))
    inline.ok(*words[1:-1], "b")
    assert load_intact(tmp_path / "a").benchmark_hash == load_intact(tmp_path / "b").benchmark_hash


def test_mlcroissant_reads_every_table(folder: Path) -> None:
    import mlcroissant

    manifest = write_card(folder)
    result = mlcroissant.Dataset(jsonld=str(folder / "croissant.json"))
    assert not result.metadata.ctx.issues.errors
    sets = {r.id for r in result.metadata.record_sets}
    tables = {n.split("-0000")[0] for n in manifest.files if n.endswith(".parquet")}
    assert sets == tables
    rows = list(result.records("queries/queries"))
    assert len(rows) == 30
    assert rows[0]["queries/queries/_id"] == b"q01"
    passages = list(result.records("corpus/corpus"))
    assert len(passages) == 84
    content = json.loads((folder / "croissant.json").read_text())
    assert "http://mlcommons.org/croissant/1.1" in content["conformsTo"]
    assert content["rai:dataCollection"]


def described(folder: Path) -> Any:
    """The data set that mlcroissant reads of a folder's description; it must not be at fault."""
    import mlcroissant

    result = mlcroissant.Dataset(jsonld=str(folder / "croissant.json"))
    assert not result.metadata.ctx.issues.errors
    # Nothing says when a package was published.
    assert [w.split('"')[1] for w in result.metadata.ctx.issues.warnings] == [
        "https://schema.org/datePublished"
    ]
    return result


def plain(value: Any) -> Any:
    """A record of mlcroissant as in the table: texts are no bytes, names have no record set."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, dict):
        return {k.rpartition("/")[2]: plain(v) for k, v in value.items()}
    return [plain(v) for v in value] if isinstance(value, list) else value


def test_croissant_describes_lists_and_records_of_every_column(
    alce_package: Path, tmp_path: Path
) -> None:
    folder = folder_of(alce_package, tmp_path)
    write_card(folder)
    sets = {r.id: r for r in described(folder).metadata.record_sets}
    shard = next(n for n in sets if n.startswith("gold/"))
    (file,) = (folder / "gold").glob("*.parquet")
    rows = pq.read_table(file).to_pylist()
    assert {f.id.rpartition("/")[2] for f in sets[shard].fields} == set(rows[0])
    assert not any(r.description for r in sets.values())
    assert any(row["aliases"] for row in rows)
    read = [plain(record) for record in described(folder).records(shard)]
    for name in ("query_id", "aliases", "citations"):
        assert [row[name] for row in read] == [row[name] for row in rows]


def test_croissant_describes_the_passages_shown_and_sentences_with_citations(
    folder: Path, hagrid_package: Path, tmp_path: Path
) -> None:
    write_card(folder)
    rows = pq.read_table(next((folder / "contexts").glob("*.parquet"))).to_pylist()
    assert [plain(r) for r in described(folder).records("contexts/mix")] == rows
    answers = folder_of(hagrid_package, tmp_path)
    write_card(answers)
    (file,) = (answers / "gold").glob("*.parquet")
    wanted = [row["sentences"] for row in pq.read_table(file).to_pylist()]
    shard = f"gold/{file.name.partition('-0000')[0]}"
    read = [plain(record)["sentences"] for record in described(answers).records(shard)]
    assert [[(s["text"], s["citations"]) for s in row or ()] for row in read] == [
        [(s["text"], s["citations"]) for s in row or ()] for row in wanted
    ]


def test_croissant_names_columns_that_it_has_no_type_for(tmp_path: Path) -> None:
    record = pa.struct([("inner", pa.struct([("n", pa.int64())])), ("when", pa.date32())])
    table = pa.table({"rows": pa.array([], pa.list_(record)), "day": pa.array([], pa.date32())})
    pq.write_table(table, tmp_path / "t.parquet")
    entry = _describe_columns("t.parquet", tmp_path)
    (rows,) = entry["field"]
    assert [(f["@id"], f["source"]["transform"]) for f in rows["subField"]] == [
        ("t/rows/inner.n", {"jsonPath": "$[*].inner.n"})
    ]
    assert entry["description"] == (
        "The file also has columns of other types: rows/when (date32[day]), day (date32[day])."
    )


def made(licence: str | None, *sources: tuple[str, str | None]) -> Manifest:
    infos = [SourceInfo(spec=f"{kind}:x", kind=kind, licence=x) for kind, x in sources]
    return Manifest(kind="rage", name="x", citeforge="0", licence=licence, sources=infos, config={},
                    contexts={})  # fmt: skip


def test_names_from_outside_are_one_line_without_tags(folder: Path) -> None:
    """Names of models and licences come from endpoints and sources."""
    manifest = load_intact(folder)
    hostile = "x`\n---\nlicense: mit\n# Heading\n<script>alert(1)</script>"
    source = manifest.sources[0].model_copy(update={"licence": hostile})
    models = {hostile: {"name": hostile, hostile: hostile}}
    contexts = {n: c.model_copy(update={"description": hostile})
                for n, c in manifest.contexts.items()}  # fmt: skip
    update = {"models": models, "sources": [source], "contexts": contexts}
    text = render_card(manifest.model_copy(update=update), {}, {})
    _, _, body = text.partition("\n---\n")
    assert "# Heading &lt;script&gt;alert(1)&lt;/script&gt;" in body
    assert "<script" not in MarkdownIt("js-default", {"html": True}).render(body)
    assert not {"---", "license: mit", "# Heading"} & set(body.splitlines())


def test_licences() -> None:
    order = ["cc0-1.0", "mit", "cc-by-sa-4.0", "cc-by-nc-4.0", "cc-by-nc-sa-4.0", "cc-by-nd-4.0"]
    assert [restrictiveness(x) for x in order] == [0, 1, 2, 3, 4, 5]
    assert restrictiveness("other") == restrictiveness(None) == 6
    assert licence_words("cc-by-nc-sa-3.0") == "non-commercial, share-alike"
    hagrid = made("apache-2.0", ("hagrid", SOURCES.get("hagrid").licence_id))
    assert most_restrictive(hagrid) == "cc-by-sa-3.0"  # its passages are Wikipedia's
    assert "build with --licence cc-by-sa-3.0" in conflicts(hagrid)[0]
    assert conflicts(made("cc-by-sa-3.0", ("hagrid", "cc-by-sa-3.0"))) == []
    # What an unknown licence allows is not known: the benchmark has to be under it, too.
    assert "which is not known here" in conflicts(made("mit", ("kalma", "other")))[0]
    assert conflicts(made("other", ("kalma", "other"))) == []
    both = made("cc-by-nc-4.0", ("beir", "cc-by-sa-4.0"), ("alce", "cc-by-nc-4.0"))
    assert "cannot be published together" in conflicts(both)[0]
    assert most_restrictive(made("mit", ("beir", None))) is None


def test_bars() -> None:
    assert bars([0, 1, 2, 4]) == "·▃▅█"
    assert bars([]) == bars([0, 0]) == "–"


def test_the_card_of_a_public_half_is_true_of_it(hidden_package: Path, tmp_path: Path) -> None:
    """It cannot say what was done with hidden labels, and does not deny it."""
    public = tmp_path / "public"
    split_package(hidden_package, public, tmp_path / "gold")
    assert {r.id for r in described(public).metadata.record_sets} == {
        "contexts/mix", "corpus/corpus", "queries/queries",
    }  # fmt: skip
    before = content(public)
    write_card(public)
    assert content(public) == before
    card, croissant = [(public / n).read_text() for n in ("README.md", "croissant.json")]
    for denied in ("No model decided", "was not audited", "Nothing was skipped", "every choice"):
        assert denied not in card + croissant
    for said in (
        "labels of relevance are hidden",
        "--benchmark hub:ORG/NAME --gold hub:ORG/NAME-gold",
    ):
        assert said in card
    whole = write_card(folder_of(hidden_package, tmp_path))
    text = (tmp_path / "whole" / "README.md").read_text()
    assert whole.config.get("hidden_gold") is None
    assert "--gold" not in text and "are hidden" not in text
    assert "`manifest.json` has every choice and the sha256 of every file." in text
    assert 'load_dataset("ORG/NAME", "queries")' in text


def folder_of(package: Path, parent: Path) -> Path:
    """A copy that may be changed."""
    return Path(shutil.copytree(package, parent / "whole"))


def test_published_texts_name_no_folder_of_this_machine(folder: Path) -> None:
    write_card(folder)
    for name in ("README.md", "croissant.json"):
        text = (folder / name).read_text()
        assert "beir:facts" in text
        assert str(EXAMPLES) not in text


@pytest.mark.parametrize(
    ("text", "public"),
    [
        ("beir:/home/me/data/nq", "beir:nq"), ("beir:~/nq/", "beir:nq"), ("../x/nq", "nq"),
        ("beir:C:\\data\\nq", "beir:nq"), ("/tmp/model", "model"), ("--source", "--source"),
        ("beir:data/nq", "beir:data/nq"), ("hub:ORG/NAME", "hub:ORG/NAME"),
        ("kg:file:/home/me/g.ttl", "kg:file:g.ttl"), ("file:///home/me/g.ttl", "file:g.ttl"),
        ("https://example.org/a", "https://example.org/a"), ("0.5", "0.5"), ("/", "/"),
    ],
)  # fmt: skip
def test_a_path_keeps_its_last_part(text: str, public: str) -> None:
    assert without_folders(text) == public
