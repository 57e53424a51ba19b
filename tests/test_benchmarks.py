"""The benchmarks' own data are what citeforge reads; here at a small size."""

from pathlib import Path

from benchmarks.score import make_package, prepare_ours, run_ours

from citeforge.builders.verify import verify


def test_the_synthetic_package_is_scored(tmp_path: Path) -> None:
    folder = make_package(tmp_path, 30)
    assert verify(folder / "package") == []
    assert run_ours(prepare_ours(str(folder))) == 30
