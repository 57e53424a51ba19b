"""What is computed in follows from the processor and from what is installed."""

import pytest

from citeforge.engines.models import compute
from citeforge.engines.models.compute import choose_compute
from conftest import refused

BF16 = {"avx512f", "avx512_bf16", "avx512_vnni"}
VNNI = {"avx2", "avx_vnni"}
PLAIN = {"avx2"}


@pytest.fixture(autouse=True)
def unlimited(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ATEN_CPU_CAPABILITY", "DNNL_MAX_CPU_ISA", "ONEDNN_MAX_CPU_ISA"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("flags", "installed", "expected"),
    [
        (BF16, True, "bf16"),
        (VNNI, True, "int8"),
        (VNNI, False, "fp32"),
        (PLAIN, True, "fp32"),
        (set(), True, "fp32"),
    ],
)
def test_auto(
    monkeypatch: pytest.MonkeyPatch, flags: set[str], installed: bool, expected: str
) -> None:
    monkeypatch.setattr(compute, "cpu_flags", lambda: flags)
    monkeypatch.setattr(compute, "find_spec", lambda name: object() if installed else None)
    assert choose_compute("auto", "cpu") == expected
    assert choose_compute("fp32", "cpu") == "fp32"


def test_bfloat16_hidden_from_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compute, "cpu_flags", lambda: BF16)
    monkeypatch.setattr(compute, "find_spec", lambda name: None)
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "avx2")
    assert choose_compute("auto", "cpu") == "fp32"
    with refused("unsupported") as caught:
        choose_compute("bf16", "cpu")
    assert "use --compute fp32" in str(caught.value)


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"DNNL_MAX_CPU_ISA": "AVX512_CORE_VNNI"}, "int8"),
        ({"ONEDNN_MAX_CPU_ISA": "avx512_core_vnni"}, "int8"),
        ({"ONEDNN_MAX_CPU_ISA": "AVX2"}, "fp32"),
        ({"ONEDNN_MAX_CPU_ISA": "AVX2", "DNNL_MAX_CPU_ISA": "DEFAULT"}, "fp32"),
        ({"ONEDNN_MAX_CPU_ISA": "DEFAULT", "DNNL_MAX_CPU_ISA": "AVX2"}, "bf16"),
        ({"ONEDNN_MAX_CPU_ISA": "", "DNNL_MAX_CPU_ISA": "AVX2"}, "fp32"),
    ],
)
def test_limits_of_onednn_by_both_of_its_names(
    monkeypatch: pytest.MonkeyPatch, limits: dict[str, str], expected: str
) -> None:
    for name, value in limits.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(compute, "cpu_flags", lambda: BF16)
    monkeypatch.setattr(compute, "find_spec", lambda name: object())
    assert choose_compute("auto", "cpu") == expected


def test_int8_needs_its_extra_and_a_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("citeforge.schemas.errors.find_spec", lambda name: None)
    with refused("missing-extra", extra="fast"):
        choose_compute("int8", "cpu")
    with refused("conflicting-options"):
        choose_compute("int8", "cuda")
