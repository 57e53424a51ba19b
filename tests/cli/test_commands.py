"""The commands as a user runs them: exit codes, one clear line, no traceback."""

import json
from pathlib import Path

import click
import pytest

from citeforge.cli.main import cli, grouped_helps, one_line_helps
from conftest import EXAMPLES, ROOT, Cli


def test_short_helps_are_those_of_the_commands() -> None:
    for name, text in one_line_helps().items():
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        assert command.get_short_help_str(limit=200).rstrip(".") == text.rstrip(".")


def test_the_main_path(cli: Cli, tmp_path: Path) -> None:
    source = f"beir:{EXAMPLES / 'facts'}"
    out = tmp_path / "facts"
    built = cli("build", "rage", "--source", source, "--embedder", "offline", "--out", out)
    assert built.returncode == 0, built.stderr
    assert "context mix: up to 3 relevant" in built.stdout
    assert cli("verify", out).returncode == 0
    assert cli("run", "random", "--benchmark", out, "--out", "r.jsonl").returncode == 0
    checked = cli("check", "r.jsonl", "--benchmark", out)
    assert checked.returncode == 0
    assert checked.stdout == "30 answers read, 0 errors, 0 warnings\n"
    scored = cli("score", "r.jsonl", "--benchmark", out, "--out", "scores.json")
    assert scored.returncode == 0, scored.stderr
    assert "signature: CiteP,CiteR,CiteF1" in scored.stdout
    content = json.loads((tmp_path / "scores.json").read_text())
    assert content["counts"]["n_missing"] == 0
    assert len(content["measures"][0]["per_query"]) == len(content["query_ids"]) == 30
    shown = cli("show", out, "--query", "q01")
    assert "relevant (moon-io)" in shown.stdout
    prompts = cli("export", "prompts", out, "--context", "mix")
    assert len(prompts.stdout.splitlines()) == 30


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("frobnicate",), 2, "unknown command 'frobnicate'; known: audit"),
        (("scroe", "x"), 2, "unknown command 'scroe' (did you mean 'score'?); known: audit"),
        (("build", "rag"), 2, "unknown kind 'rag' (did you mean 'rage'?); known: "),
        (("score", "x", "--benchmark", "y", "--protocol", "strickt"), 2, "did you mean 'strict'?"),
        (("report", "x", "--format", "htlm"), 2, "did you mean 'html'?"),
        (("build", "rage", "--source", "beir", "--out", "o"), 2, "expected KIND:ARGUMENT"),
        (("build", "rage", "--source", "bier:x", "--out", "o"), 2, "did you mean 'beir'"),
        (("build", "rage", "--source", "beir:nowhere", "--out", "o"), 1, "nowhere: is not a fo"),
        (("build", "rage", "--source", "beir:x"), 2, "--out"),
        (("build", "rage", "--source", "beir:x", "--out", "o", "--mixture", "m"), 2, "--mixture"),
        (("build", "rage", "--source", "beir:x", "--out", "o", "--limit", "0"), 2, "--limit"),
        (("verify", "nowhere"), 1, "nowhere: is not a benchmark package"),
        (("score", "s.jsonl", "--benchmark", "nowhere"), 1, "is not a benchmark package"),
        (("score", "s.jsonl", "--benchmark", "x", "--measures", "CiteX"), 2, "did you mean"),
        (("run", "magic", "--benchmark", "x", "--out", "y"), 2, "unknown system 'magic'"),
    ],
)
def test_mistakes(cli: Cli, args: tuple[str, ...], code: int, message: str) -> None:
    result = cli(*args)
    assert result.returncode == code, result.stderr
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert len(result.stderr.strip().splitlines()) <= 4


def test_an_unknown_embedder_without_network(cli: Cli, tmp_path: Path) -> None:
    source = f"beir:{EXAMPLES / 'facts'}"
    result = cli("build", "rage", "--source", source, "--embedder", "no/such", "--out", "o")
    assert result.returncode == 1
    assert "use --embedder offline" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "o").exists()
    assert not (tmp_path / "o.partial").exists()


def test_check_exits_with_1_on_errors_and_0_on_warnings(
    cli: Cli, package: Path, tmp_path: Path
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text('{"query_id": "q01", "output": "[77]"}\n')
    warned = cli("check", path, "--benchmark", package)
    assert warned.returncode == 0
    assert "s.jsonl:1: warning: output: cites 77; the context has 1 to 7" in warned.stdout
    path.write_text('{"query_id": "q77", "output": "[1]"}\n')
    wrong = cli("check", path, "--benchmark", package)
    assert wrong.returncode == 1
    assert "s.jsonl:1: error: query_id: 'q77' is not in the benchmark" in wrong.stdout


def test_several_submissions_make_one_table(cli: Cli, package: Path, tmp_path: Path) -> None:
    for name in ("random", "echo-relevant"):
        cli("run", name, "--benchmark", package, "--out", f"{name}.jsonl")
    args = ("score", "random.jsonl", "echo-relevant.jsonl", "--benchmark", package)
    result = cli(*args, "--out", "scores")
    assert result.returncode == 0, result.stderr
    header, _, *measures = [line.split() for line in result.stdout.splitlines()[:5]]
    assert header == ["random", "(reference)", "echo-relevant", "(reference)"]
    assert [row[0] for row in measures] == ["CiteP", "CiteR", "CiteF1"]
    assert sorted(p.name for p in (tmp_path / "scores").iterdir()) == [
        "echo-relevant.scores.json",
        "random.scores.json",
    ]
    assert cli(*args, "--out", "one.json").returncode == 2


def test_every_context_set_that_is_answered_is_scored(cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "two"
    built = cli(
        *("build", "rage", "--source", f"beir:{EXAMPLES / 'facts'}", "--embedder", "offline"),
        *("--out", out, "--mixture", "paper_mix", "--mixture", "hard=1,0,9", "--base", "0"),
    )
    assert built.returncode == 0, built.stderr
    cli("run", "echo-relevant", "--benchmark", out, "--out", "s.jsonl")
    assert cli("check", "s.jsonl", "--benchmark", out).returncode == 0
    both = cli("score", "s.jsonl", "--benchmark", out, "--out", "scores.json")
    assert both.returncode == 0, both.stderr
    files = {p.name: json.loads(p.read_text())["context"] for p in tmp_path.glob("scores*.json")}
    assert files == {"scores.paper_mix.json": "paper_mix", "scores.hard.json": "hard"}
    (tmp_path / "folder").mkdir()
    again = cli("score", "s.jsonl", "--benchmark", out, "--out", "folder")
    assert again.returncode == 0, again.stderr
    assert sorted(p.name for p in (tmp_path / "folder").iterdir()) == [
        "s.hard.scores.json",
        "s.paper_mix.scores.json",
    ]
    compared = cli("compare", "scores.hard.json", "scores.paper_mix.json")
    assert compared.returncode in (1, 2)
    assert "ctx: hard / paper_mix" in compared.stderr
    cli("run", "random", "--benchmark", out, "--out", "r.jsonl")
    best = cli("score", "s.jsonl", "r.jsonl", "--benchmark", out, "--max-row", "--measures",
               "retrieval")  # fmt: skip
    assert best.returncode == 0, best.stderr
    assert best.stdout.count("MAX of 2") >= 2  # one a set, of the two systems
    assert "MAX of 4" not in best.stdout
    bench = cli("bench", "--benchmark", out, "--systems", "random,top-1", "--out", "bench")
    assert bench.returncode == 0, bench.stderr
    assert {p.name for p in (tmp_path / "bench").glob("*.scores.json")} == {
        "random.paper_mix.scores.json", "random.hard.scores.json",
        "top-1.paper_mix.scores.json", "top-1.hard.scores.json",
    }  # fmt: skip
    more = cli("bench", "--benchmark", out, "--systems", "random,top-1", "--out", "bench",
               "--context", "all", "--verbose")  # fmt: skip
    assert more.returncode == 0, more.stderr
    assert more.stdout.count("|gram:0,strict2|") > bench.stdout.count("|gram:0,strict2|")
    reported = cli("report", *files, "--out", "page.html")
    assert reported.returncode == 0, reported.stderr
    result = cli("score", "s.jsonl", "--benchmark", out, "--context", "hard")
    assert result.returncode == 0
    assert "100.00" in result.stdout
    assert "gram:0,strict2|ctx:hard" in result.stdout
    # Systems that copy answer all context sets, too.
    result = cli("run", "top-1", "--benchmark", out, "--out", "t.jsonl")
    assert "60 answers of top-1" in result.stdout  # 30 queries, two sets
    assert "0 errors, 0 warnings" in cli("check", "t.jsonl", "--benchmark", out).stdout


def test_score_files_have_the_whole_name_of_their_submission(
    cli: Cli, package: Path, tmp_path: Path
) -> None:
    cli("run", "random", "--benchmark", package, "--out", "llama-3.1-8b.jsonl")
    cli("run", "echo-relevant", "--benchmark", package, "--out", "llama-3.2-3b.jsonl")
    (tmp_path / "scores").mkdir()
    for name in ("llama-3.1-8b.jsonl", "llama-3.2-3b.jsonl"):
        result = cli("score", name, "--benchmark", package, "--out", "scores")
        assert result.returncode == 0, result.stderr
    assert sorted(p.name for p in (tmp_path / "scores").iterdir()) == [
        "llama-3.1-8b.scores.json",
        "llama-3.2-3b.scores.json",
    ]
    # The same submission may be scored again; one of another folder with its name may not.
    args = ("--benchmark", package, "--out", "scores")
    first = tmp_path / "scores" / "llama-3.1-8b.scores.json"
    assert cli("score", "llama-3.1-8b.jsonl", *args).returncode == 0
    content = first.read_bytes()
    (tmp_path / "b").mkdir()
    (tmp_path / "llama-3.2-3b.jsonl").rename(tmp_path / "b" / "llama-3.1-8b.jsonl")
    refused = cli("score", "b/llama-3.1-8b.jsonl", *args)
    assert refused.returncode == 1
    assert "holds the scores of llama-3.1-8b.jsonl (random)" in refused.stderr
    assert first.read_bytes() == content
    own = cli("score", "llama-3.1-8b.jsonl", *args[:-1], "llama-3.1-8b.jsonl")
    assert own.returncode == 2
    assert "is a submission" in own.stderr
    (tmp_path / "loop.jsonl").symlink_to("loop.jsonl")
    loop = cli("score", "loop.jsonl", *args[:-1], "loop.json")
    assert loop.returncode == 1
    assert "loop.jsonl: cannot be read: Too many levels of symbolic links" in loop.stderr


def test_a_report_of_an_unknown_ending_is_refused(cli: Cli, tmp_path: Path) -> None:
    for name in ("x.doc", "x", "x.docx"):
        result = cli("report", ROOT / "tests/golden/v1/scores.json", "--out", name)
        assert result.returncode == 2, name
        assert ".html" in result.stderr
        assert ".tex" in result.stderr
        assert not (tmp_path / name).exists()
    fine = cli("report", ROOT / "tests/golden/v1/scores.json", "--out", "x.doc", "--format", "md")
    assert fine.returncode == 0


def test_commands_stand_in_groups_and_are_few() -> None:
    groups = {group: list(helps) for group, helps in grouped_helps().items()}
    assert groups == {
        "Build": ["build", "kg", "shard"],
        "Run": ["run", "bench"],
        "Score": ["check", "score", "compare", "report"],
        "Trust": ["verify", "audit", "labels", "reproduce"],
        "Publish": ["publish", "export", "leaderboard"],
        "Look up": ["show", "list", "doctor"],
        "Advanced": ["llm"],
    }
    assert sum(map(len, groups.values())) <= 20


def test_a_recipe_is_printed_of_a_kind_or_of_a_package(cli: Cli, package: Path) -> None:
    kind = cli("build", "--print-recipe", "rage")
    assert kind.returncode == 0
    assert "\nkind: rage\n" in kind.stdout
    own = cli("build", "--print-recipe", "--from", package)
    assert own.stdout == cli("build", f"--from={package}", "--print-recipe").stdout
    assert own.returncode == 0
    for words, message in (
        ((), "give a kind (alce, "),
        (("rage", "--from", package), "give a kind (alce, "),
        (("rag",), "unknown kind 'rag' (did you mean 'rage'?)"),
    ):
        refused = cli("build", "--print-recipe", *words)
        assert refused.returncode == 2
        assert message in refused.stderr
    assert cli("build", "--out", "x").returncode == 2


def test_publish_takes_a_package_or_results(cli: Cli, package: Path) -> None:
    shown = cli("publish", "--help").stdout
    assert "publish DIR [OPTIONS] | results SCORES… [OPTIONS]" in shown
    assert "--hide-gold" in shown
    for words in ((package, "--repo-id", "facts"), ("--repo-id", "facts", package)):
        refused = cli("publish", *words)
        assert refused.returncode == 2
        assert "--repo-id 'facts': expected ORG/NAME" in refused.stderr
    results = cli("publish", "results", "x.json", "--repo-id", "a/b", "--model", "c")
    assert results.returncode == 2
    assert "--model" in results.stderr


def test_a_trace_is_of_a_query(cli: Cli, package: Path) -> None:
    assert "Name it with --query" in cli("show", package, "--trace").stderr
    refused = cli("show", package, "--trace", "--query", "q01")
    assert refused.returncode == 1
    assert "is a rage benchmark; --trace is for those of build kalma" in refused.stderr
