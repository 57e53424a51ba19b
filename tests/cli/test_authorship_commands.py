"""The authorship route as a user takes it: from a benchmark to labels of annotators."""

import csv
import json
from pathlib import Path

from citeforge.builders.verify import verify
from citeforge.package.manifest import load_intact
from conftest import ROOT, Inline


def test_from_twins_to_a_bias_that_is_found(package: Path, inline: Inline, tmp_path: Path) -> None:
    """The quick start's second half; one control is biased on purpose, the other is not."""
    for args in (
        ("llm", "import", "t.db", ROOT / "examples/twins/replay.jsonl"),
        ("build", "twins", "--benchmark", package, "--llm", "replay:t.db", "--out", "twins"),
        ("build", "authorship", "--twins", "twins", "--k", "5", "--out", "a"),
        ("run", "label-blind", "--benchmark", "a", "--out", "blind.jsonl"),
        ("run", "label-follower", "--benchmark", "a", "--out", "follower.jsonl"),
        ("score", "blind.jsonl", "follower.jsonl", "--benchmark", "a", "--out", "scores"),
    ):
        result = inline(*args)
        assert result.returncode == 0, result.stderr
    assert "Attribution bias (CAB)" in result.stdout
    assert "signature: Auth.P,Auth.R,Cited.relevant" in result.stdout
    for origins in ("hh", "hl", "lh", "ll"):
        found = {}
        for name in ("blind", "follower"):
            file = json.loads((tmp_path / f"scores/{name}.scores.json").read_text())
            entries = {m["name"]: m for m in file["measures"]}
            found[name] = entries[f"CAB.P[{origins}_human_llm]"]
        assert found["blind"]["low"] <= 0 <= found["blind"]["high"]
        assert found["follower"]["low"] > 0
        assert found["follower"]["p_holm"] < 0.05
    annotated(inline, tmp_path)
    (tmp_path / "half.jsonl").write_text(
        "".join(
            line
            for line in (tmp_path / "blind.jsonl").read_text().splitlines(keepends=True)
            if '"ll_vanilla"' not in line
        )
    )
    result = inline("check", "half.jsonl", "--benchmark", "a")
    assert "no answer to the cell ll_vanilla" in result.stdout + result.stderr


def annotated(inline: Inline, folder: Path) -> None:
    """Twins go to two annotators, whose agreement is added to the statistics."""
    before = load_intact(folder / "twins")
    for task, least in (("twin-relevant", 41), ("twin-nonrelevant", 3 * 4)):
        result = inline(*("labels", "export", "--benchmark", "twins", "--task", task), "--out",
                     "out.csv")  # fmt: skip
        assert result.returncode == 0, result.stderr
        with (folder / "out.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert least <= len(rows)  # all queries; of the non-relevant, a tenth of 30
        assert all(r["original"] != r["rewritten"] for r in rows)
        for who in ("ann", "bob"):
            with (folder / f"{who}.csv").open("w", newline="") as file:
                writer = csv.DictWriter(file, ["item", "label"])
                writer.writeheader()
                for number, row in enumerate(rows):
                    label = "no" if number == 0 and who == "bob" else "yes"
                    writer.writerow({"item": row["item"], "label": label})
        result = inline(*("labels", "import", "ann.csv", "bob.csv", "--key", "out.csv.key.json"),
                     "--benchmark", "twins")  # fmt: skip
        assert result.returncode == 0, result.stderr
        stats = json.loads((folder / "twins" / "stats.json").read_text())
        assert stats[f"annotation_items[{task}]"] == len(rows)
        raw = stats[f"annotation_agreement[{task}][raw]"]
        assert raw == round((len(rows) - 1) / len(rows), 4)
    assert verify(folder / "twins") == []
    assert load_intact(folder / "twins").benchmark_hash == before.benchmark_hash
    assert "annotation twin-relevant" in (folder / "twins" / "README.md").read_text()


def test_wrong_usage_is_one_line(inline: Inline, package: Path) -> None:
    build = ("build", "authorship", "--out", "a")
    for args, code in (
        (build, "bad-option"),
        ((*build, "--benchmark", package, "--origins", "xy"), "bad-option"),
        ((*build, "--benchmark", package, "--candidates", "no.run"), "missing-file"),
        (
            ("build", "twins", "--benchmark", package, "--out", "a", "--llm", "template"),
            "unknown-name",
        ),
        (("run", "label-blind", "--benchmark", package, "--out", "s"), "wrong-kind"),
        (("labels", "export", "--task", "twin-relevant", "--out", "x.csv"), "conflicting-options"),
    ):
        result = inline(*args)
        assert (result.returncode in (1, 2), result.code) == (True, code), (args, result.stderr)
        assert len(result.stderr.splitlines()) == 1
