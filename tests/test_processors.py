"""`make processors`: its settings, its table, and whether libraries obey."""

import os
from pathlib import Path

import pytest

from processors import NEEDED, SETTINGS, list_missing_flags, run_settings

TINY = """
import os, pathlib, pytest
def teardown_module():
    pathlib.Path(os.environ["CITEFORGE_HASHES"]).write_text("b@0a")
@pytest.mark.numeric
def test_threads():
    assert os.environ["OMP_NUM_THREADS"] != "3"
def test_without_mark():
    raise AssertionError
"""


def test_every_value_is_in_a_setting() -> None:
    assert {item for setting in SETTINGS for item in setting.items()} == {
        (name, value) for name, values in NEEDED.items() for value in values
    }


def test_the_table_names_what_failed_and_what_was_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "test_tiny.py"
    file.write_text(TINY)
    good, bad = {"OMP_NUM_THREADS": "1"}, {"OMP_NUM_THREADS": "3"}
    too_new = {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_VNNI", "OMP_NUM_THREADS": "1"}
    assert not run_settings([good, bad, too_new], [file], {"avx2", "fma", "avx512f"})
    _, *lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:3] for line in lines[:2]] == [
        ["OMP_NUM_THREADS=1", "1", "0"], ["OMP_NUM_THREADS=3", "0", "1"],
    ]  # fmt: skip
    assert lines[2].split("  ") == [
        "ONEDNN_MAX_CPU_ISA=AVX512_CORE_VNNI OMP_NUM_THREADS=1",
        "skipped: this processor has no avx512_vnni, avx512bw, avx512dq, avx512vl",
    ]
    assert lines[3] == "hashes b@0a"
    assert lines[5] == "OMP_NUM_THREADS=3"
    assert any("!= '3'" in line for line in lines[6:])
    assert run_settings([good], [file], set())


def test_hashes_that_differ_are_red(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "test_tiny.py"
    file.write_text(TINY.replace('"b@0a"', 'os.environ["OMP_NUM_THREADS"]'))
    assert not run_settings([{"OMP_NUM_THREADS": n} for n in "12"], [file], set())
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2:] == ["hashes 1: OMP_NUM_THREADS=1", "hashes 2: OMP_NUM_THREADS=2"]


def test_a_setting_without_tests_is_red(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "test_none.py").write_text("")
    assert not run_settings([{}], [tmp_path / "test_none.py"], set())
    assert capsys.readouterr().out


def test_any_processor_has_a_setting() -> None:
    assert [s for s in SETTINGS if not list_missing_flags(s, set())]


@pytest.mark.numeric
def test_libraries_obey_the_setting(capfd: pytest.CaptureFixture[str]) -> None:
    import faiss
    import torch

    limits = {name: os.environ[name] for name in NEEDED if name in os.environ}
    if not limits or "MKL_DYNAMIC" not in os.environ:
        pytest.skip("no setting of make processors")
    threads = int(limits["OMP_NUM_THREADS"])
    assert (torch.get_num_threads(), faiss.omp_get_max_threads()) == (threads, threads)
    aten = limits.get("ATEN_CPU_CAPABILITY", "")
    assert torch.backends.cpu.get_cpu_capability().startswith(aten.upper())
    if limits.get("ONEDNN_MAX_CPU_ISA", "DEFAULT") == "DEFAULT":
        return
    with torch.backends.mkldnn.verbose(torch.backends.mkldnn.VERBOSE_ON):
        torch.nn.functional.gelu(torch.ones(64, 64))
    (kernel,) = (x.split(",")[6] for x in capfd.readouterr().out.splitlines() if ",exec,cpu," in x)
    above = {"AVX2": "avx512", "AVX512_CORE": "bf16", "AVX512_CORE_VNNI": "bf16"}
    assert above.get(limits["ONEDNN_MAX_CPU_ISA"], "amx") not in kernel
    assert kernel.startswith("jit:avx")
