"""G-Eval against servers that word their marks their way, or give none."""

import json
from pathlib import Path

import pytest

from conftest import Inline, Ran
from servers.provider import Behaviour, chat, provider, refusal

KEY = {"OPENAI_API_KEY": "sk-test-0123456789abcdef"}


@pytest.fixture(scope="module")
def answers(kalma_package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from conftest import run_inline

    folder = tmp_path_factory.mktemp("answers")
    words = ("run", "echo-relevant", "--benchmark", kalma_package, "--context", "full")
    run_inline((*words, "--out", "a.jsonl"), folder, {}).check_returncode()
    return folder / "a.jsonl"


def score(inline: Inline, behave: Behaviour, answers: Path, package: Path, *more: object) -> Ran:
    with provider(behave) as server:
        return inline(
            *("score", answers, "--benchmark", package, "--measures", "GEval.coherence"),
            *("--llm", "openai:m", "--base-url", server.url, *more),
            **KEY,
        )


def test_a_mark_in_other_words(inline: Inline, answers: Path, kalma_package: Path) -> None:
    done = score(inline, lambda body: chat("<think>3?</think>4/5"), answers, kalma_package)
    assert done.returncode == 0, done.stderr
    assert "4.00" in done.stdout


@pytest.mark.parametrize(
    ("behave", "reason"),
    [
        (lambda body: refusal("no such model"), "HTTP 400: no such model"),
        (lambda body: chat("Hm."), "the reply 'Hm.' has no mark from 1 to 5"),
    ],
)
def test_where_all_fail_there_is_no_value(
    behave: Behaviour, reason: str, inline: Inline, answers: Path, kalma_package: Path
) -> None:
    done = score(inline, behave, answers, kalma_package)
    assert (done.returncode, done.code) == (3, "counted-failures")
    assert reason in done.stderr
    assert "1.00" not in done.stdout


def test_a_mark_that_failed_is_left_out_and_ends_in_3(
    inline: Inline, answers: Path, kalma_package: Path
) -> None:
    replies = iter(["5", "Hm.", *["3"] * 99])
    done = score(inline, lambda body: chat(next(replies)), answers, kalma_package,
                 "--concurrency", 1)  # fmt: skip
    assert (done.returncode, done.code) == (3, "counted-failures")
    assert "left out" in done.stderr


@pytest.mark.parametrize("effort", ["low", "high"])
def test_the_signature_names_the_reasoning_effort(
    inline: Inline, answers: Path, kalma_package: Path, tmp_path: Path, effort: str
) -> None:
    out = tmp_path / "scores.json"
    more = ("--reasoning-effort", effort, "--out", out)
    score(inline, lambda body: chat("4"), answers, kalma_package, *more)
    (measure,) = json.loads(out.read_text())["measures"]
    assert f"openai:m+effort={effort},prompts " in measure["signature"]
