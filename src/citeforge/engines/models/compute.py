"""Choice of a local model's device and numeric format, by what the processor can do."""

import os

from citeforge.engines.posix import cpu_flags, may_have_device
from citeforge.schemas.errors import UsageError, require
from citeforge.schemas.recipes.base import Chosen, Compute

MANY_PASSAGES = 24
"""Passages per query from which on it pays to embed in bfloat16 first: of fewer, more than half
would be embedded again. Some 12 per query are, measured on HAGRID (benchmarks/results)."""
_DNNL_WITHOUT_BFLOAT16 = frozenset(
    "SSE41 AVX AVX2 AVX2_VNNI AVX2_VNNI_2 AVX512_CORE AVX512_CORE_VNNI".split()
)
"""Values of ``ONEDNN_MAX_CPU_ISA`` that disable oneDNN's bfloat16 kernels (CPU dispatcher control
of its manual)."""
_GPUS = "nvidia[0-9]*", "kfd", "dxg"
"""Devices of NVIDIA, of AMD, and of Windows below Linux."""


def choose_compute(compute: Compute, device: str) -> Chosen:
    """Choose the numeric format (fp32, fp64 or bf16) of a model by option and device.

    Args:
        compute: ``auto`` takes bfloat16 where the device multiplies in it, else float32.
        device: ``auto``, ``cpu``, ``cuda``, …

    Raises:
        UsageError: the device cannot do what is wanted.
    """
    device = resolve_device(device)
    on_cpu = device == "cpu"
    if compute in ("fp32", "fp64"):
        return compute
    if _has_bfloat16(device):
        return "bf16"
    if compute == "bf16":
        raise UsageError(
            f"--compute bf16: this {'processor' if on_cpu else device} has no bfloat16 arithmetic "
            "(AVX512-BF16 or AMX); use --compute fp32, which runs anywhere and gives the same "
            "benchmark",
            code="unsupported",
        )
    return "fp32"


def require_openvino(device: str, option: str) -> None:
    """Raise an error if the device is no CPU, or OpenVINO (extra ``fast``) is not installed.

    Args:
        device: device of the model.
        option: option that asks for it, for errors.

    Raises:
        UsageError: the device is no CPU.
        MissingExtraError: the extra ``fast`` is not there.
    """
    if resolve_device(device) != "cpu":
        raise UsageError(
            f"{option} runs on a CPU, not on {device}; add --device cpu, or drop {option}",
            code="conflicting-options",
        )
    require("openvino")


def resolve_device(device: str) -> str:
    """Resolve the device ``auto``: ``cuda`` if there is a GPU, else ``cpu``."""
    if device != "auto":
        return device
    if not may_have_device(_GPUS):
        return "cpu"  # without asking torch, which takes seconds to import
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def _has_bfloat16(device: str) -> bool:
    """Whether a device (CUDA or CPU) multiplies in bfloat16 in hardware."""
    if device.startswith("cuda"):
        import torch

        return bool(torch.cuda.is_bf16_supported())
    return device == "cpu" and cpu_has_bfloat16()


def cpu_has_bfloat16() -> bool:
    """Whether this CPU multiplies matrices in bfloat16, and no environment variable forbids it.

    ``ATEN_CPU_CAPABILITY`` and ``ONEDNN_MAX_CPU_ISA`` can keep torch from what the processor has;
    bfloat16 would then be emulated, slower than float32.
    """
    if not {"avx512_bf16", "amx_bf16"} & cpu_flags():
        return False
    aten = os.environ.get("ATEN_CPU_CAPABILITY", "").lower()
    return aten not in ("default", "avx2") and _dnnl_limit() not in _DNNL_WITHOUT_BFLOAT16


def _dnnl_limit() -> str:
    """Read from the environment the instruction set that limits oneDNN; empty if there is none."""
    # oneDNN reads its earlier name where the present one is missing or empty.
    get = os.environ.get
    return (get("ONEDNN_MAX_CPU_ISA") or get("DNNL_MAX_CPU_ISA") or "").upper()
