"""What is computed in follows from the processor."""

import pytest

from citeforge.engines.models import compute
from citeforge.engines.models.compute import choose_compute, require_openvino
from conftest import refused

BF16 = {"avx512f", "avx512_bf16", "avx512_vnni"}
VNNI = {"avx2", "avx_vnni"}


@pytest.fixture(autouse=True)
def unlimited(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ATEN_CPU_CAPABILITY", "DNNL_MAX_CPU_ISA", "ONEDNN_MAX_CPU_ISA"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (BF16, "bf16"),
        (VNNI, "fp32"),
        (set(), "fp32"),
    ],
)
def test_auto(monkeypatch: pytest.MonkeyPatch, flags: set[str], expected: str) -> None:
    monkeypatch.setattr(compute, "cpu_flags", lambda: flags)
    assert choose_compute("auto", "cpu") == expected
    assert choose_compute("fp32", "cpu") == "fp32"


def test_bfloat16_hidden_from_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compute, "cpu_flags", lambda: BF16)
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "avx2")
    assert choose_compute("auto", "cpu") == "fp32"
    with refused("unsupported") as caught:
        choose_compute("bf16", "cpu")
    assert "use --compute fp32" in str(caught.value)


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"DNNL_MAX_CPU_ISA": "AVX512_CORE_VNNI"}, "fp32"),
        ({"ONEDNN_MAX_CPU_ISA": "avx512_core_vnni"}, "fp32"),
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
    assert choose_compute("auto", "cpu") == expected


def test_openvino_needs_its_extra_and_a_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("citeforge.schemas.errors.find_spec", lambda name: None)
    with refused("missing-extra", extra="fast"):
        require_openvino("cpu", "--runtime openvino")
    with refused("conflicting-options"):
        require_openvino("cuda", "--runtime openvino")
