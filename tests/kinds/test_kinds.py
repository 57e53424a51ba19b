"""Every kind is declared whole, and nobody asks for a kind by its name."""

import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import citeforge as cf
from citeforge.builders.package import manifest_digest, render_manifest
from citeforge.builders.prompts import TEMPLATES
from citeforge.evaluator.measures.registry import measures
from citeforge.ir_convert.registry import citation_of
from citeforge.kinds.rage import RageKind
from citeforge.package.kinds import KINDS, Kind, kind_of, recipes
from citeforge.package.manifest import MANIFEST, load_manifest
from citeforge.plugins.labels.sheets import TASKS
from citeforge.schemas.manifest import Manifest
from citeforge.schemas.recipes.base import Recipe
from citeforge.systems.registry import SYSTEMS
from conftest import ROOT, Inline, refused

EVERY = sorted(KINDS.all())


@pytest.mark.parametrize("name", EVERY)
def test_a_kind_reads_in_the_ways_of_its_own_that_it_lists(name: str) -> None:
    kind = KINDS.all()[name]
    is_read = type(kind).read_answers is not Kind.read_answers
    assert is_read == any(reads != "passages" for reads in kind.facts.readings)


@pytest.mark.parametrize("name", EVERY)
def test_names_in_a_declaration_are_known(name: str) -> None:
    kind = KINDS.all()[name]
    assert kind.name == kind.facts.name == name
    assert kind.facts.recipe is recipes()[name]
    assert kind.facts.recipe.kind == name
    assert kind.facts.template in TEMPLATES
    assert citation_of(kind.facts.paper)
    assert set(kind.facts.default_measures) <= {m.family for m in measures().values()}
    assert set(kind.facts.annotation) <= {t.name for t in TASKS.values() if t.of_benchmark}
    assert set(kind.facts.public) <= set(kind.facts.tables)
    runs = {k.removeprefix("run ") for k in kind.facts.refusals if k.startswith("run ")}
    assert runs <= set(SYSTEMS.all())
    assert bool(kind.facts.blinded) != bool(kind.facts.explain_refusal("hide-gold"))
    assert set(kind.facts.blinded) <= set(kind.facts.tables) - set(kind.facts.public)
    assert kind.facts.explain_refusal("export")
    assert kind.facts.explain_refusal("annotate")


def test_every_task_is_of_some_kind() -> None:
    asked = {t for kind in KINDS.all().values() for t in kind.facts.annotation}
    assert asked == {t.name for t in TASKS.values() if t.of_benchmark}


def test_an_unknown_kind_is_named_with_the_known_ones() -> None:
    manifest = Manifest(
        kind="ragee", name="x", citeforge="0", sources=[], config={}, contexts={}
    )  # fmt: skip
    with refused("wrong-kind", path="p") as caught:
        kind_of(manifest, "p")
    assert "'ragee'; known: alce, authorship" in str(caught.value)


PLUGIN = """
from dataclasses import replace

from citeforge.kinds.rage import RageKind


class Notes(RageKind):
    facts = replace(RageKind.facts, name="notes", recipe=None, about="notes")

    def check_consistency(self, package):
        yield "notes", f"are missing in {package.name}"


NOTES = Notes()
PLUGINS = {"kinds": [NOTES]}
"""


def test_a_plugin_brings_a_kind(package: Path, tmp_path: Path, inline: Inline) -> None:
    folder, plugin = tmp_path / "p", tmp_path / "notes.py"
    shutil.copytree(package, folder)
    plugin.write_text(PLUGIN)
    given = {"CITEFORGE_PLUGINS": str(plugin)}
    manifest = load_manifest(folder).model_copy(update={"kind": "notes"})
    manifest.manifest_sha256 = manifest_digest(manifest)
    (folder / MANIFEST).write_text(render_manifest(manifest))
    assert inline("verify", folder).code == "wrong-kind"
    result = inline("verify", folder, **given)
    assert result.returncode == 1
    assert f"notes: are missing in {manifest.name}" in result.stderr
    shown = inline("show", folder, "--query", "q01", **given)
    assert "context mix:" in shown.stdout, shown.stderr
    assert inline("export", "kalma", folder, "--out", "x", **given).code == "wrong-kind"
    odd = tmp_path / "odd.py"
    odd.write_text(PLUGIN.replace("[NOTES]", "[type('Odd', (), {'name': 'notes'})]"))
    assert inline("verify", folder, CITEFORGE_PLUGINS=str(odd)).code == "broken-plugin"


def test_a_kind_and_its_recipe_have_one_name() -> None:
    with pytest.raises(ValueError, match="the kind 'notes' has a recipe of the kind 'rage'"):
        replace(RageKind.facts, name="notes")


class NotesRecipe(Recipe):
    """Notes."""

    kind = "notes"


def test_kinds_that_cannot_be_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with refused("unknown-name", noun="benchmark kind", value="notes"):
        cf.build(NotesRecipe(), tmp_path / "out")
    plugin = tmp_path / "notes.py"
    plugin.write_text(PLUGIN)
    monkeypatch.setenv("CITEFORGE_PLUGINS", str(plugin))
    with refused("wrong-kind"):
        cf.build(NotesRecipe(), tmp_path / "out")


def test_kinds_import_nothing_that_only_their_methods_use() -> None:
    code = "import sys; from citeforge.package.kinds import KINDS; KINDS.all(); print(*sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    mine = {m for m in result.stdout.split() if m.startswith("citeforge.")}
    folders = {m.split(".")[1] for m in mine}
    assert folders <= {"engines", "kinds", "package", "plugins", "schemas"}


def test_an_option_that_a_kind_does_not_offer_says_why(
    package: Path, tmp_path: Path, inline: Inline
) -> None:
    out = tmp_path / "out"
    for words, facts in (
        (
            ("export", "kalma", package),
            ("the format is for sub-graphs", "its formats: alce, attributed-ir, attrieval, beir"),
        ),
        (("run", "label-blind", "--benchmark", package), ("it follows the labels",)),
        (
            ("labels", "export", "--task", "kalma-relevance", "--benchmark", package),
            ("its tasks: audit-negative",),
        ),
    ):
        result = inline(*words, "--out", out)
        assert result.code == "wrong-kind"
        assert all(fact in result.stderr for fact in facts), result.stderr
    assert not out.exists()


BY_NAME = re.compile(r"""kind (==|!=|in)|family (==|!=) ['"]""")


def test_nobody_asks_for_a_kind_by_its_name() -> None:
    source = ROOT / "src" / "citeforge"
    result = [
        f"{name}:{number}: {line.strip()}"
        for path in sorted(source.rglob("*"))
        if path.is_file() and path.suffix in (".py", ".j2", ".js")
        for name in [path.relative_to(source).as_posix()]
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if BY_NAME.search(line)
    ]
    assert not result
