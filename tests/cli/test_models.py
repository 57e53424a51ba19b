"""`llm`, `judge` and `doctor` as a user runs them."""

import json
from pathlib import Path

import pytest

from citeforge.engines.models import compute
from citeforge.engines.running import doctor
from conftest import Inline
from patience import patience
from servers.running import openai_server

KEY = "sk-secret-5f3a9c1e7b"


def write_pairs(path: Path) -> Path:
    rows = [
        {"premise": "Io is a moon of Jupiter.", "hypothesis": "Io is a moon."},
        {"premise": "Io is a moon of Jupiter.", "hypothesis": "Titan circles Saturn."},
        {"premise": "Io is a moon of Jupiter.", "hypothesis": "Io is a moon."},
    ]
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    return path


def test_prompts_to_submission_to_scores(inline: Inline, package: Path, tmp_path: Path) -> None:
    assert inline("export", "prompts", package, "--out", "p.jsonl").returncode == 0
    with openai_server(tmp_path / "log", key=KEY) as server:
        args = ("llm", "run", "p.jsonl", "--llm", "openai:m", "--out", "s.jsonl")
        there = ("--base-url", server.url, "--store", "r.db", "--price", "1,2")
        env = {"OPENAI_API_KEY": KEY}
        plan = inline(*args, *there, "--dry-run", **env)
        assert plan.returncode == 0, plan.stderr
        assert "calls to make      30" in plan.stdout
        assert "cost               about 0.0" in plan.stdout
        assert len(server.requests()) == 0
        run = inline(*args, *there, "--logprobs", **env)
        assert run.returncode == 0, run.stderr
        assert run.stdout == "s.jsonl: 30 answers of openai:m\n"
        assert inline(*args, *there, "--logprobs", **env).returncode == 0
        assert len(server.requests()) == 30
    assert inline("check", "s.jsonl", "--benchmark", package).returncode == 0
    assert inline("score", "s.jsonl", "--benchmark", package).returncode == 0
    # Without the server: the store alone gives the same submission.
    first = (tmp_path / "s.jsonl").read_bytes()
    replay = ("llm", "run", "p.jsonl", "--llm", "replay:r.db", "--out", "t.jsonl", "--logprobs")
    assert inline(*replay).returncode == 0
    assert (tmp_path / "t.jsonl").read_bytes() == first
    missing = inline(*replay[:-1])  # other parameters: other requests
    assert (missing.returncode, missing.code) == (1, "not-stored")
    stats = inline("llm", "stats", "r.db", "--price", "1,2")
    assert "answers            30" in stats.stdout
    assert "cost " in stats.stdout
    assert inline("llm", "export", "r.db", "--out", "e.jsonl").returncode == 0
    assert inline("llm", "import", "n.db", "e.jsonl").stdout == (
        "n.db: 30 answers added, 0 were there\n"
    )
    again = inline(
        "llm", "run", "p.jsonl", "--llm", "replay:n.db", "--out", "u.jsonl", "--logprobs"
    )
    assert again.returncode == 0
    assert (tmp_path / "u.jsonl").read_bytes() == first
    forbidden_everywhere(tmp_path)


def forbidden_everywhere(folder: Path) -> None:
    """The key is in no file that was written."""
    for path in folder.rglob("*"):
        if path.is_file() and path.name != "log":
            assert KEY.encode() not in path.read_bytes(), path


def test_a_wrong_key_is_one_line_and_never_shown(
    inline: Inline, package: Path, tmp_path: Path
) -> None:
    inline("export", "prompts", package, "--out", "p.jsonl")
    with openai_server(tmp_path / "log", key="the-right-one") as server:
        result = inline(
            *("llm", "run", "p.jsonl", "--llm", "openai:m", "--out", "s.jsonl"),
            *("--base-url", server.url, "--store", "r.db"),
            OPENAI_API_KEY=KEY,
        )
        examined = inline("doctor", "--base-url", server.url, "--store", "r.db", OPENAI_API_KEY=KEY)
    assert (result.returncode, result.code) == (1, "endpoint-refused")
    assert "Incorrect API key provided: [key]" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "s.jsonl").exists()
    for text in (result.stdout, result.stderr, examined.stdout, examined.stderr):
        assert KEY not in text
    assert "OPENAI_API_KEY is set (never shown)" in examined.stdout
    forbidden_everywhere(tmp_path)


def test_failures_are_counted_with_exit_code_3(inline: Inline, tmp_path: Path) -> None:
    rows = [{"query_id": f"q{i}", "prompt": "#filter" if i == 3 else f"p{i}"} for i in range(5)]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    with openai_server(tmp_path / "log") as server:
        result = inline(
            *("llm", "run", "p.jsonl", "--llm", "openai:m", "--out", "s.jsonl"),
            *("--base-url", server.url),
        )
    assert result.returncode == 3
    assert "q3: content_filter" in result.stderr
    assert len((tmp_path / "s.jsonl").read_text().splitlines()) == 1 + 4
    assert "answers            4" in inline("llm", "stats", "s.jsonl.replay.db").stdout


def test_empty_and_cut_replies_are_answers(inline: Inline, package: Path, tmp_path: Path) -> None:
    """25 of 30 replies say nothing or are cut; none of them leaves the mean."""
    inline("export", "prompts", package, "--out", "p.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    for i, row in enumerate(rows):
        row["prompt"] = "#empty" if i < 15 else f"[1] {i} #length" if i < 25 else f"[1] {i}"
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    with openai_server(tmp_path / "log") as server:
        result = inline(
            *("llm", "run", "p.jsonl", "--llm", "openai:m", "--out", "s.jsonl"),
            *("--base-url", server.url),
        )
    assert result.returncode == 0, result.stderr
    assert result.stdout == (
        "s.jsonl: 30 answers of openai:m (10 cut at --max-answer 512, 15 empty)\n"
    )
    lines = [json.loads(line) for line in (tmp_path / "s.jsonl").read_text().splitlines()][1:]
    assert [line["output"] for line in lines[:15]] == [""] * 15
    assert [line.get("finish_reason") for line in lines] == [None] * 15 + ["length"] * 10 + (
        [None] * 5
    )
    checked = inline("check", "s.jsonl", "--benchmark", package)
    assert checked.returncode == 0
    assert "10 answers were cut" in checked.stdout
    assert "15 answers are empty" in checked.stdout
    for protocol in ("strict", "reference"):
        args = ("score", "s.jsonl", "--benchmark", package, "--protocol", protocol)
        assert inline(*args, "--out", "x.json").returncode == 0
        counts = json.loads((tmp_path / "x.json").read_text())["counts"]
        assert (counts["n_answered"], counts["n_missing"]) == (30, 0)
        assert (counts["n_truncated"], counts["n_empty"]) == (10, 15)


def test_max_cost_stops_with_exit_code_3(inline: Inline, tmp_path: Path) -> None:
    rows = [{"query_id": f"q{i}", "prompt": f"p{i}"} for i in range(50)]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    with openai_server(tmp_path / "log") as server:
        result = inline(
            *("llm", "run", "p.jsonl", "--llm", "openai:m", "--out", "s.jsonl"),
            *("--base-url", server.url, "--price", "1000,1000", "--max-cost", "0.6"),
        )
        assert 1 < len(server.requests()) < 50
    assert result.returncode == 3
    assert "stopped before --max-cost 0.6 is passed" in result.stderr


@pytest.mark.parametrize(
    ("args", "status", "code"),
    [
        (("--llm", "openai:m"), 1, "missing-key"),
        (("--llm", "openai:m", "--base-url", "http://127.0.0.1:9/v1"), 1, "endpoint-failed"),
        (("--llm", "openai:m", "--price", "cheap"), 2, "bad-option"),
        (("--llm", "gpt"), 2, "unknown-name"),
        (("--llm", "replay:none.db"), 1, "missing-file"),
        (("--llm", "openai:m", "--store", "p.jsonl"), 1, "bad-store"),
    ],
)
def test_mistakes(
    inline: Inline,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    args: tuple[str, ...],
    status: int,
    code: str,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    (tmp_path / "p.jsonl").write_text('{"query_id": "q", "prompt": "p"}\n')
    before = (tmp_path / "p.jsonl").read_bytes()
    result = inline("llm", "run", "p.jsonl", "--out", "s.jsonl", *args)
    assert (result.returncode, result.code) == (status, code), result.stderr
    assert (tmp_path / "p.jsonl").read_bytes() == before


def test_judging_a_file(inline: Inline, tmp_path: Path) -> None:
    write_pairs(tmp_path / "pairs.jsonl")
    args = ("labels", "judge", "pairs.jsonl", "--judge", "lexical", "--verdicts", "v.db")
    plan = inline(*args, "--dry-run")
    assert "distinct           2" in plan.stdout
    priced = inline(
        *("labels", "judge", "pairs.jsonl", "--judge", "openai:m"),
        *("--base-url", "http://127.0.0.1:9/v1", "--dry-run", "--price", "1,1000"),
    )
    # Two replies of 30 tokens; at most three tries of each.
    assert "calls to make      2 if every first reply is taken; at most 6" in priced.stdout
    assert "cost               about 0.06" in priced.stdout
    assert "at most 180, with thoughts 24,756\n" in priced.stdout  # 6 * 30, 6 * (30 + 4,096)
    assert "; at most 0.18" in priced.stdout and ", with thoughts 24.7" in priced.stdout
    result = inline(*args, "--out", "verdicts.jsonl")
    assert result.returncode == 0, result.stderr
    assert "3 pairs, 2 entailed; 2 asked, 0 stored" in result.stdout
    assert "not comparable with published numbers" in result.stdout
    assert "0 asked, 2 stored" in inline(*args, "--out", "again.jsonl").stdout
    table = inline(
        "labels", "judge", "pairs.jsonl", "--judge", "table:verdicts.jsonl", "--out", "t.jsonl"
    )
    assert "3 pairs, 2 entailed" in table.stdout
    assert (tmp_path / "t.jsonl").read_text() == (tmp_path / "verdicts.jsonl").read_text()


def test_judge_failures_exit_with_3_unless_allowed(inline: Inline, tmp_path: Path) -> None:
    write_pairs(tmp_path / "pairs.jsonl")
    (tmp_path / "t.jsonl").write_text('{"premise": "x", "hypothesis": "y", "verdict": true}\n')
    args = ("labels", "judge", "pairs.jsonl", "--judge", "table:t.jsonl", "--out", "v.jsonl")
    assert inline(*args).returncode == 3
    allowed = inline(*args, "--allow-judge-failures")
    assert allowed.returncode == 0
    assert "2 failed" in allowed.stdout


def test_doctor_gives_advice(inline: Inline) -> None:
    pytest.importorskip("faiss")
    pytest.importorskip("sentence_transformers")
    result = inline("doctor", "--base-url", "http://127.0.0.1:9/v1")
    assert result.returncode == 0, result.stderr
    assert "ok  vector search" in result.stdout
    assert "--  LLM endpoint           does not answer" in result.stdout
    assert "→ check --base-url" in result.stdout
    assert "switched off by HF_HUB_OFFLINE" in result.stdout


def test_doctor_names_a_torch_for_gpus_on_a_machine_without_one(
    inline: Inline, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(compute, "choose_compute", lambda *_: "fp32")
    for cuda, has_gpu, named in (("13.0", False, 1), ("13.0", True, 0), (None, False, 0)):
        monkeypatch.setattr(torch.version, "cuda", cuda)
        monkeypatch.setattr(torch.cuda, "is_available", lambda has_gpu=has_gpu: has_gpu)
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: "a GPU")
        found = inline("doctor", "--offline").stdout
        assert found.count("built for CUDA 13.0") == named
        assert found.count("uv pip install --torch-backend=cpu") == named


def test_doctor_asks_a_live_endpoint(
    inline: Inline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_SECONDS", patience(5))
    with openai_server(tmp_path / "log") as server:
        result = inline("doctor", "--base-url", server.url)
    assert "ok  LLM endpoint           answers; 1 models: m" in result.stdout


def test_a_judge_that_no_measure_asks_is_named(
    inline: Inline, package: Path, tmp_path: Path
) -> None:
    assert inline("run", "random", "--benchmark", package, "--out", "r.jsonl").returncode == 0
    args = ("score", "r.jsonl", "--benchmark", package, "--judge", "lexical")
    idle = inline(*args)
    assert idle.returncode == 0, idle.stderr
    assert "no measure here asks the judge lexical@2; add --measures alce" in idle.stderr
    assert "judged by" not in idle.stdout
    asked = inline(*args, "--measures", "rage,alce")
    assert "judged by lexical@2: not comparable" in asked.stdout
    assert "asks the judge" not in asked.stderr
