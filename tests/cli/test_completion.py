"""Completion in shells, by what they are given to read."""

import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import Inline

WORDS = "_CITEFORGE_COMPLETE"


def offered(inline: Inline, shell: str, *words: str) -> set[str]:
    """Names that are offered for the last of the words."""
    number = words[-1] if shell == "fish" else str(len(words))
    typed = " ".join(["citeforge", *words])
    done = inline(**{WORDS: f"{shell}_complete", "COMP_WORDS": typed, "COMP_CWORD": number})
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    if shell == "zsh":  # kind, name, help: one line each
        return set(lines[1::3])
    return {line.split(",", 1)[1].split("\t")[0] for line in lines}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_commands_options_and_names_are_offered(inline: Inline, shell: str) -> None:
    assert offered(inline, shell, "sc") == {"score"}
    assert offered(inline, shell, "score", "--judge-p") == {"--judge-profile"}
    assert offered(inline, shell, "score", "--protocol", "re") == {"reference"}
    assert offered(inline, shell, "run", "rand") == {"random"}
    assert offered(inline, shell, "score", "--judge", "lex") == {"lexical"}
    assert offered(inline, shell, "score", "--measures", "CiteP,CiteR") == {"CiteP,CiteR"}
    assert offered(inline, shell, "score", "--segmenter", "") == {"nupunkt", "punkt"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_say_where_they_belong(inline: Inline, shell: str) -> None:
    done = inline("--show-completion", shell)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("# ")
    assert f"citeforge --show-completion {shell}" in done.stdout.splitlines()[0]
    assert f"_CITEFORGE_COMPLETE={shell}_complete" in done.stdout
    assert inline("--show-completion", SHELL=f"/usr/bin/{shell}").stdout == done.stdout
    program = shutil.which(shell)
    if program is not None:
        subprocess.run([program, "-n"], input=done.stdout, text=True, check=True)


def test_bash_itself_completes(inline: Inline, tmp_path: Path) -> None:
    made = inline("--show-completion", "bash").stdout
    # The program is stood in for: what bash calls, with which words, and what it makes of it.
    (tmp_path / "citeforge").write_text('#!/bin/sh\necho "plain,$(echo $COMP_WORDS)/$COMP_CWORD"\n')
    (tmp_path / "citeforge").chmod(0o755)
    asked = "COMP_WORDS=(citeforge sc); COMP_CWORD=1; _citeforge_completion citeforge sc"
    done = subprocess.run(
        ["bash", "-c", f'{made}\n{asked}\necho "${{COMPREPLY[@]}}"'],
        capture_output=True, text=True, env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, check=True,
    )  # fmt: skip
    assert done.stdout == "citeforge sc/1\n"


def test_a_shell_that_is_not_known(inline: Inline) -> None:
    done = inline("--show-completion", SHELL="/bin/tcsh")
    assert (done.returncode, done.code) == (2, "bad-option")
    assert inline("--show-completion", SHELL="").stderr
