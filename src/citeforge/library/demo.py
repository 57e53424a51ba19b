"""The demo: copies the example data of the package, and lists the commands to try on them."""

import shutil
from pathlib import Path

from citeforge.engines.posix import follow_checkout_link
from citeforge.schemas.errors import UsageError

EXAMPLES = Path(__file__).resolve().parent / "examples"
"""Data of the repository's ``examples/``, also in an installed package."""
_STEPS = (
    "build rage --source beir:{out}/examples/facts --mixture mix=3,3,0 --n-seemingly 0"
    " --licence apache-2.0 --out {out}/facts",
    "verify {out}/facts",
    "show {out}/facts --query q21",
    "run random --benchmark {out}/facts --out {out}/random.jsonl",
    "run top-1 --benchmark {out}/facts --out {out}/top-1.jsonl",
    "run echo-relevant --benchmark {out}/facts --out {out}/echo-relevant.jsonl",
    "check {out}/top-1.jsonl --benchmark {out}/facts",
    "score {out}/random.jsonl {out}/top-1.jsonl {out}/echo-relevant.jsonl --benchmark {out}/facts"
    " --measures CiteP,CiteR,CiteF1,ALCE.CitRec --judge lexical --details --out {out}/scores",
    "compare {out}/scores/random.scores.json {out}/scores/top-1.scores.json",
    "report {out}/scores/random.scores.json {out}/scores/top-1.scores.json"
    " {out}/scores/echo-relevant.scores.json --out {out}/report.html",
)
NEXT = """\
random cites anything; top-1 copies the first passage and cites it, so that all it says is
supported, and most of it beside the point; echo-relevant cites what is relevant.

Next, your own system (its file names the benchmark, its answers cite passages by [number]):

  citeforge export prompts {out}/facts --out {out}/prompts.jsonl
  citeforge llm run {out}/prompts.jsonl --llm openai:MODEL --out {out}/mine.jsonl
  citeforge score {out}/mine.jsonl --benchmark {out}/facts

and your own data: citeforge build rage --help

Every answer stands beside its passages in this page; open it in a browser:
{page}"""


def start_demo(out: Path) -> list[str]:
    """Copy the examples into a new folder; return the commands to run on them.

    Args:
        out: folder to make; without white space in its name, so that lines can be typed again.

    Raises:
        UsageError: the folder holds something, or its name cannot be typed.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(
            f"--out {out}: is there already; name a new folder, or remove it", code="output-exists"
        )
    if str(out).startswith("-") or any(c.isspace() or c in "'\"\\$" for c in out.as_posix()):
        raise UsageError(f"--out {out}: name a folder without spaces and quotes", code="bad-option")
    for name in ("facts", "answers", "labels", "people"):
        shutil.copytree(follow_checkout_link(EXAMPLES / name), out / "examples" / name)
    return [step.format(out=out.as_posix()) for step in _STEPS]
