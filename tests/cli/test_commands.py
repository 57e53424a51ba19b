"""The commands as a user runs them: exit codes and one clear line."""

import json
from pathlib import Path

import click
import pytest

import citeforge as cf
from citeforge.cli.commands import grouped_helps, one_line_helps
from citeforge.cli.main import cli
from citeforge.schemas.recipes.rage import Mixture
from conftest import EXAMPLES, ROOT, Inline


def test_short_helps_are_those_of_the_commands() -> None:
    for name, text in one_line_helps().items():
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        assert command.get_short_help_str(limit=200).rstrip(".") == text.rstrip(".")


def test_the_main_path(inline: Inline, tmp_path: Path) -> None:
    source = f"beir:{EXAMPLES / 'facts'}"
    out = tmp_path / "facts"
    built = inline("build", "rage", "--source", source, "--embedder", "offline", "--out", out)
    assert built.returncode == 0, built.stderr
    assert "context mix: up to 3 relevant" in built.stdout
    assert inline("verify", out).returncode == 0
    assert inline("run", "random", "--benchmark", out, "--out", "r.jsonl").returncode == 0
    checked = inline("check", "r.jsonl", "--benchmark", out)
    assert checked.returncode == 0
    assert checked.stdout.endswith("30 answers read, 0 errors, 1 warning\n")
    assert "control: is a reference line" in checked.stdout
    scored = inline("score", "r.jsonl", "--benchmark", out, "--out", "scores.json")
    assert scored.returncode == 0, scored.stderr
    assert "signature: CiteP,CiteR,CiteF1" in scored.stdout
    content = json.loads((tmp_path / "scores.json").read_text())
    assert content["counts"]["n_missing"] == 0
    assert len(content["measures"][0]["per_query"]) == len(content["query_ids"]) == 30
    shown = inline("show", out, "--query", "q01")
    assert "relevant (moon-io)" in shown.stdout
    prompts = inline("export", "prompts", out, "--context", "mix")
    assert len(prompts.stdout.splitlines()) == 30


@pytest.mark.parametrize(
    ("args", "status", "code", "detail"),
    [
        (("frobnicate",), 2, "unknown-name", "unknown command 'frobnicate'; known: audit"),
        (("scroe", "x"), 2, "unknown-name", "'scroe' (did you mean 'score'?); known: audit"),
        (("build", "rag"), 2, "unknown-name", "unknown kind 'rag' (did you mean 'rage'?); known: "),
        (("score", "x", "--benchmark", "y", "--protocol", "strickt"), 2, "", "mean 'strict'?"),
        (("report", "x", "--format", "htlm"), 2, "", "did you mean 'html'?"),
        (("build", "rage", "--source", "beir", "--out", "o"), 2, "bad-option", "--source 'beir'"),
        (("build", "rage", "--source", "bier:x", "--out", "o"), 2, "unknown-name", "mean 'beir'"),
        (("build", "rage", "--source", "beir:none", "--out", "o"), 1, "not-a-folder", "none"),
        (("build", "rage", "--source", "beir:x"), 2, "missing-option", "--out"),
        (("build", "rage", "--source", "beir:x", "--out", "o", "--mixture", "m"), 2, "bad-option",
         "--mixture 'm'"),
        (("build", "rage", "--source", "beir:x", "--out", "o", "--limit", "0"), 2, "", "--limit"),
        (("verify", "nowhere"), 1, "not-a-package",
         "nowhere: does not exist; expected a folder that `citeforge build` made"),
        (("compare", "no.json", "none.json"), 1, "missing-file",
         "no.json: does not exist; expected a file that `citeforge score --out` wrote"),
        (("report", "no.json"), 1, "missing-file",
         "no.json: does not exist; expected a file that `citeforge score --out` wrote"),
        (("score", "s.jsonl", "--benchmark", "nowhere"), 1, "not-a-package", "nowhere"),
        (("score", "s.jsonl", "--benchmark", "x", "--measures", "CiteX"), 2, "unknown-name",
         "did you mean"),
        (("run", "magic", "--benchmark", "x", "--out", "y"), 2, "unknown-name", "'magic'"),
    ],
)  # fmt: skip
def test_mistakes(
    inline: Inline, args: tuple[str, ...], status: int, code: str, detail: str
) -> None:
    result = inline(*args)
    assert (result.returncode, result.code) == (status, code), result.stderr
    assert detail in result.stderr
    assert len(result.stderr.strip().splitlines()) <= 4


def test_an_unknown_embedder_without_network(inline: Inline, tmp_path: Path) -> None:
    source = f"beir:{EXAMPLES / 'facts'}"
    result = inline("build", "rage", "--source", source, "--embedder", "no/such", "--out", "o")
    assert (result.returncode, result.code) == (1, "missing-model")
    assert "use --embedder offline" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "o").exists()
    assert not (tmp_path / "o.partial").exists()


def test_check_exits_with_1_on_errors_and_0_on_warnings(
    inline: Inline, package: Path, tmp_path: Path
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text('{"query_id": "q01", "output": "[77]"}\n')
    warned = inline("check", path, "--benchmark", package)
    assert warned.returncode == 0
    assert "s.jsonl:1: warning: output: cites 77; the context has 1 to 7" in warned.stdout
    path.write_text('{"query_id": "q77", "output": "[1]"}\n')
    wrong = inline("check", path, "--benchmark", package)
    assert wrong.returncode == 1
    assert "s.jsonl:1: error: query_id: 'q77' is not in the benchmark" in wrong.stdout


def test_several_submissions_make_one_table(inline: Inline, package: Path, tmp_path: Path) -> None:
    for name in ("random", "echo-relevant"):
        inline("run", name, "--benchmark", package, "--out", f"{name}.jsonl")
    args = ("score", "random.jsonl", "echo-relevant.jsonl", "--benchmark", package)
    result = inline(*args, "--out", "scores")
    assert result.returncode == 0, result.stderr
    header, _, *measures = [line.split() for line in result.stdout.splitlines()[:5]]
    assert header == ["random", "(control)", "echo-relevant", "(control)"]
    assert [row[0] for row in measures] == ["CiteP", "CiteR", "CiteF1"]
    assert sorted(p.name for p in (tmp_path / "scores").iterdir()) == [
        "echo-relevant.scores.json",
        "random.scores.json",
    ]
    assert inline(*args, "--out", "one.json").returncode == 2


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A benchmark with two context sets, ``paper_mix`` and ``hard``."""
    out = tmp_path_factory.mktemp("two") / "two"
    mixtures = tuple(Mixture.model_validate(m) for m in ("paper_mix", "hard=1,0,9"))
    recipe = cf.RageRecipe(
        source=f"beir:{EXAMPLES / 'facts'}", candidates="bm25", mixtures=mixtures, base=0
    )
    cf.build(recipe, out)
    return out


def test_every_context_set_that_is_answered_is_scored(
    inline: Inline, two: Path, tmp_path: Path
) -> None:
    ran = inline("run", "echo-relevant", "--benchmark", two, "--out", "s.jsonl")
    assert ran.returncode == 0, ran.stderr
    assert inline("check", "s.jsonl", "--benchmark", two).returncode == 0
    both = inline("score", "s.jsonl", "--benchmark", two, "--out", "scores.json")
    assert both.returncode == 0, both.stderr
    files = {p.name: json.loads(p.read_text())["context"] for p in tmp_path.glob("scores*.json")}
    assert files == {"scores.paper_mix.json": "paper_mix", "scores.hard.json": "hard"}
    (tmp_path / "folder").mkdir()
    again = inline("score", "s.jsonl", "--benchmark", two, "--out", "folder")
    assert again.returncode == 0, again.stderr
    assert sorted(p.name for p in (tmp_path / "folder").iterdir()) == [
        "s.hard.scores.json",
        "s.paper_mix.scores.json",
    ]
    compared = inline("compare", "scores.hard.json", "scores.paper_mix.json")
    assert compared.code == "not-comparable"
    assert "ctx: hard / paper_mix" in compared.stderr
    inline("run", "random", "--benchmark", two, "--out", "r.jsonl")
    best = inline("score", "s.jsonl", "r.jsonl", "--benchmark", two, "--max-row", "--measures",
                  "retrieval")  # fmt: skip
    assert best.returncode == 0, best.stderr
    assert best.stdout.count("MAX of 2") >= 2  # one a set, of the two systems
    assert "MAX of 4" not in best.stdout
    reported = inline("report", *files, "--out", "page.md")
    assert reported.returncode == 0, reported.stderr
    result = inline("score", "s.jsonl", "--benchmark", two, "--context", "hard")
    assert result.returncode == 0
    assert "100.00" in result.stdout
    assert "gram:0,strict3|ctx:hard" in result.stdout
    # Systems that copy answer all context sets, too.
    result = inline("run", "top-1", "--benchmark", two, "--out", "t.jsonl")
    assert "60 answers of top-1" in result.stdout  # 30 queries, two sets
    assert "0 errors, 0 warnings" in inline("check", "t.jsonl", "--benchmark", two).stdout


@pytest.mark.slow
def test_a_bench_scores_every_context_set(inline: Inline, two: Path, tmp_path: Path) -> None:
    words = ("bench", "--benchmark", two, "--systems", "random,top-1", "--measures", "CiteP",
             "--out", "bench")  # fmt: skip
    bench = inline(*words)
    assert bench.returncode == 0, bench.stderr
    assert {p.name for p in (tmp_path / "bench").glob("*.scores.json")} == {
        "random.paper_mix.scores.json", "random.hard.scores.json",
        "top-1.paper_mix.scores.json", "top-1.hard.scores.json",
    }  # fmt: skip
    more = inline(*words, "--context", "all", "--verbose")
    assert more.returncode == 0, more.stderr
    for context in ("paper_mix", "hard"):
        assert f"|ctx:{context}|" in bench.stdout
    # The other counts of a score are asked for.
    assert "out of range" not in bench.stdout
    assert "out of range" in more.stdout


def test_a_bench_without_the_extra_for_plots_says_so_in_its_report(
    inline: Inline, package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citeforge.reports.pages.markup.find_spec", lambda name: None)
    words = ("--systems", "random,top-1", "--measures", "CiteP", "--out", "bench")
    inline.ok("bench", "--benchmark", package, *words)
    assert "There are no plots" in (tmp_path / "bench" / "report.html").read_text()


def test_score_files_have_the_whole_name_of_their_submission(
    inline: Inline, package: Path, tmp_path: Path
) -> None:
    inline("run", "random", "--benchmark", package, "--out", "llama-3.1-8b.jsonl")
    inline("run", "echo-relevant", "--benchmark", package, "--out", "llama-3.2-3b.jsonl")
    (tmp_path / "scores").mkdir()
    for name in ("llama-3.1-8b.jsonl", "llama-3.2-3b.jsonl"):
        result = inline("score", name, "--benchmark", package, "--out", "scores")
        assert result.returncode == 0, result.stderr
    assert sorted(p.name for p in (tmp_path / "scores").iterdir()) == [
        "llama-3.1-8b.scores.json",
        "llama-3.2-3b.scores.json",
    ]
    # The same submission may be scored again; one of another folder with its name may not.
    args = ("--benchmark", package, "--out", "scores")
    first = tmp_path / "scores" / "llama-3.1-8b.scores.json"
    assert inline("score", "llama-3.1-8b.jsonl", *args).returncode == 0
    content = first.read_bytes()
    (tmp_path / "b").mkdir()
    (tmp_path / "llama-3.2-3b.jsonl").rename(tmp_path / "b" / "llama-3.1-8b.jsonl")
    refused = inline("score", "b/llama-3.1-8b.jsonl", *args)
    assert (refused.returncode, refused.code) == (1, "output-exists")
    assert first.read_bytes() == content
    renamed = inline("score", "llama-3.1-8b.jsonl", *args, "--name", "mine")
    assert renamed.returncode == 0  # the same answers
    with (tmp_path / "llama-3.1-8b.jsonl").open("a") as file:
        file.write("\n")
    again = inline("score", "llama-3.1-8b.jsonl", *args)
    assert (again.returncode, again.code) == (1, "output-exists")
    assert "(system 'mine'), not of llama-3.1-8b.jsonl (system 'random')" in again.stderr
    assert "remove the file if you renamed the system" in again.stderr
    own = inline("score", "llama-3.1-8b.jsonl", *args[:-1], "llama-3.1-8b.jsonl")
    assert (own.returncode, own.code) == (2, "conflicting-options")
    (tmp_path / "loop.jsonl").symlink_to("loop.jsonl")
    loop = inline("score", "loop.jsonl", *args[:-1], "loop.json")
    assert (loop.returncode, loop.code) == (1, "storage")


def test_a_report_of_an_unknown_ending_is_refused(inline: Inline, tmp_path: Path) -> None:
    for name in ("x.doc", "x", "x.docx"):
        result = inline("report", ROOT / "tests/golden/v1/scores.json", "--out", name)
        assert (result.returncode, result.code) == (2, "bad-option"), name
        assert not (tmp_path / name).exists()
    fine = inline(
        "report", ROOT / "tests/golden/v1/scores.json", "--out", "x.doc", "--format", "md"
    )
    assert fine.returncode == 0


def test_commands_stand_in_groups_and_are_few() -> None:
    groups = {group: list(helps) for group, helps in grouped_helps().items()}
    assert groups == {
        "Build": ["build", "kg"],
        "Run": ["run", "bench"],
        "Score": ["check", "score", "compare", "gate", "report"],
        "Trust": ["verify", "audit", "labels", "reproduce"],
        "Publish": ["publish", "export", "leaderboard"],
        "Look up": ["show", "view", "list", "doctor"],
        "Advanced": ["llm"],
    }
    assert sum(map(len, groups.values())) <= 21, "a command of `kg`, `labels` or `llm`, perhaps?"


def test_a_recipe_is_printed_of_a_kind_or_of_a_package(inline: Inline, package: Path) -> None:
    kind = inline("build", "--print-recipe", "rage")
    assert kind.returncode == 0
    assert "\nkind: rage\n" in kind.stdout
    own = inline("build", "--print-recipe", "--from", package)
    assert own.stdout == inline("build", f"--from={package}", "--print-recipe").stdout
    assert own.returncode == 0
    for words, code in (
        ((), "missing-option"),
        (("rage", "--from", package), "missing-option"),
        (("rag",), "unknown-name"),
    ):
        refused = inline("build", "--print-recipe", *words)
        assert (refused.returncode, refused.code) == (2, code)
    assert inline("build", "--out", "x").returncode == 2


def test_publish_takes_a_package_or_results(inline: Inline, package: Path) -> None:
    shown = inline("publish", "--help").stdout
    assert "publish DIR [OPTIONS] | results SCORES… [OPTIONS]" in shown
    assert "--hide-gold" in shown
    for words in ((package, "--repo-id", "facts"), ("--repo-id", "facts", package)):
        refused = inline("publish", *words)
        assert (refused.returncode, refused.code) == (2, "bad-option")
    results = inline("publish", "results", "x.json", "--repo-id", "a/b", "--model", "c")
    assert (results.returncode, results.code) == (2, "bad-option")


def test_a_trace_is_of_a_query(inline: Inline, package: Path) -> None:
    assert inline("show", package, "--trace").code == "missing-option"
    refused = inline("show", package, "--trace", "--query", "q01")
    assert (refused.returncode, refused.code) == (1, "wrong-kind")


def test_standard_input_is_no_place_to_write_to(
    inline: Inline, package: Path, tmp_path: Path
) -> None:
    """It would be a file or folder named ``-``, which later commands take for standard input."""
    there, file = ("--benchmark", package), package / "manifest.json"
    for args in (
        ("run", "random", *there),
        ("score", file, *there),
        ("build", "rage", "--source", "beir:x"),
        ("export", "prompts", package),
        ("export", "beir", package),
        ("compare", file, file),
    ):
        result = inline(*args, "--out", "-")
        assert result.returncode == 2, args
        assert "'--out': '-' is standard input; write the name of a file" in result.stderr
    assert [*tmp_path.iterdir()] == []


def test_a_package_in_place_of_scores_is_told_by_its_manifest(
    inline: Inline, tmp_path: Path
) -> None:
    """A published package has other JSON files, whose names come before its manifest's."""
    folder = tmp_path / "package"
    folder.mkdir()
    for name in ("croissant.json", "manifest.json", "audit.json"):
        (folder / name).write_text("{}")
    ran = inline.fails(1, "wrong-kind", "report", folder)
    assert "manifest.json: is the manifest of a package, not a score file" in ran.stderr


def test_a_path_inside_a_package_says_that_its_folder_is_meant(
    inline: Inline, package: Path
) -> None:
    manifest, folder = package / "manifest.json", f"it is part of one: give the folder {package}"
    for args in (
        ("show", manifest), ("verify", package / "queries"), ("build", "--from", manifest),
        ("compare", package, manifest), ("compare", manifest, manifest),
    ):  # fmt: skip
        assert folder in inline.fails(1, "not-a-package", *args).stderr
    ran = inline.fails(1, "wrong-kind", "build", manifest)
    assert f"to build it again: citeforge build --from {package}" in ran.stderr
    ran = inline.fails(1, "wrong-kind", "report", package)
    assert "manifest.json: is the manifest of a package, not a score file" in ran.stderr
    for args in (("compare", package, "nowhere"), ("compare", "nowhere", package)):
        assert "nowhere: does not exist" in inline.fails(1, "not-a-package", *args).stderr
    assert (
        f"the folder of it: {package}" in inline.fails(1, "not-a-folder", "view", manifest).stderr
    )
