"""OpenVINO: one thread a request, as many requests as threads, and nobody told about it."""

import sys
import threading
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from citeforge.engines.models.compute import cpu_has_bfloat16
from citeforge.schemas.errors import extras_named

WIDTH = 16
"""Inputs are padded to multiples of this many tokens: kernels are made once a shape."""

Arrays = Sequence[npt.NDArray[np.int64]]


def openvino() -> Any:
    """The module. It and nncf report their use to their makers; here they cannot.

    Raises:
        MissingExtraError: it is not installed.
    """
    # Both take a missing reporter for a wish not to report.
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
    with extras_named():
        import openvino
    return openvino


def engine_name() -> str:
    """Name and version, as fingerprints have it."""
    return f"openvino {version('openvino')}"


class Compiled:
    """A model made ready for this processor; may be called from several threads at once."""

    def __init__(self, path: Path, threads: int) -> None:
        """Load and compile.

        Args:
            path: model in OpenVINO's own format.
            threads: how many will call it at once. Each request is computed by one.
        """
        ov = openvino()
        core = ov.Core()
        in_bfloat16 = path.stem == "int8" and cpu_has_bfloat16()
        self._model = core.compile_model(
            core.read_model(path),
            "CPU",
            {
                "NUM_STREAMS": threads,
                "INFERENCE_NUM_THREADS": threads,
                "ENABLE_CPU_PINNING": False,
                # What int8 leaves over may be as rough as int8 is.
                "INFERENCE_PRECISION_HINT": "bf16" if in_bfloat16 else "f32",
            },
        )
        self._local = threading.local()
        # The first request ever builds tables inside the library, and two threads that are first
        # together wait for each other for good (seen in 2026.4.1): so one is first.
        self([np.ones((1, WIDTH), np.int64) for _ in self._model.inputs])

    def __call__(self, inputs: Arrays) -> npt.NDArray[np.float32]:
        """The only output, of inputs in the order of the model's."""
        if not hasattr(self._local, "request"):
            self._local.request = self._model.create_infer_request()
        output: npt.NDArray[np.float32] = self._local.request.infer(list(inputs))[0]
        return output


def widened(features: dict[str, Any], names: Sequence[str], pad: int) -> dict[str, Any]:
    """A tokenised batch padded to a multiple of WIDTH, as arrays."""
    arrays = {}
    for name in names:
        array = np.asarray(features[name], np.int64)
        more = -array.shape[1] % WIDTH
        fill = pad if name == "input_ids" else 0
        arrays[name] = np.pad(array, ((0, 0), (0, more)), constant_values=fill)
    return arrays
