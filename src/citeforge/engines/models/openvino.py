"""``--runtime openvino``: local classifiers and cross-encoders, computed by OpenVINO in float32.

``sentence_transformers`` would use ``optimum``, which does not work with transformers 5.23
(optimum-intel 2.2, optimum-onnx 0.1). So OpenVINO converts torch modules.
"""

import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from importlib.metadata import version
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from citeforge.engines.shown import show_percent
from citeforge.schemas.errors import InputError, extras_named

_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_TOLERANCE = 1e-3
"""Largest error of float32, relative to the largest value (measured: 2e-6)."""

Tokens = Mapping[str, Any]


def engine_version() -> str:
    """Get ``openvino VERSION``, the text that the identities of models record."""
    return f"openvino {version('openvino')}"


def compile_module(name: str | Path, module: Any, example_batch: Tokens) -> Any:
    """Convert a torch module for OpenVINO in float32 by an example; errors give its ``name``.

    Args:
        name: name of the model, for errors.
        module: model of transformers on the CPU; it is converted to float32.
        example_batch: a tokenised batch of two different lengths.

    Returns:
        A torch module with the same inputs, outputs and configuration, for several threads at once.

    Raises:
        InputError: OpenVINO cannot convert it, or computes something else.
        MissingExtraError: the extra ``fast`` is not installed.
    """
    import torch

    # Without this module, OpenVINO sends no usage data to its developers.
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
    module = module.float().eval()
    inputs = {n: example_batch[n] for n in _INPUTS if n in example_batch}
    with extras_named(), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        import openvino

        try:
            model = openvino.convert_model(module, example_input=inputs)
        # Converters raise all kinds of errors for an unknown operation.
        except Exception as error:
            raise _conversion_error(name, str(error)) from error
    threads = {n: torch.get_num_threads() for n in ("NUM_STREAMS", "INFERENCE_NUM_THREADS")}
    options = {**threads, "ENABLE_CPU_PINNING": False, "INFERENCE_PRECISION_HINT": "f32"}
    compiled = openvino.Core().compile_model(model, "CPU", options)

    with torch.inference_mode():
        expected = dict(module(**inputs))
    if not all(isinstance(value, torch.Tensor) for value in expected.values()):
        raise _conversion_error(name, f"its outputs are {', '.join(expected)}")

    class Compiled(torch.nn.Module):
        """Torch module with the original's configuration, which OpenVINO computes."""

        config = module.config

        def forward(self, **features: Any) -> SimpleNamespace:
            """Compute the torch model's outputs for a tokenised batch by OpenVINO."""
            request = compiled.create_infer_request()
            values = request.infer([features[n].numpy() for n in inputs]).values()
            return SimpleNamespace(
                **dict(zip(expected, map(torch.from_numpy, values), strict=True))
            )

    # One thread computes first: two that start together deadlock (2026.4.1).
    found = vars(Compiled()(**inputs))
    for output, right in expected.items():
        # If there is a vector per token, those of padding do not matter.
        real = inputs["attention_mask"].bool() if right.ndim == 3 else ...
        off = float((found[output] - right)[real].abs().max() / right[real].abs().max())
        if not off <= _TOLERANCE:
            raise _conversion_error(name, f"its {output} would be off by {show_percent(off, 1)}")
    return Compiled()


def _conversion_error(name: str | Path, reason: str) -> InputError:
    """Make the error of a model that OpenVINO cannot compute."""
    first = next(iter(reason.strip().splitlines()), "no reason given")
    return InputError(
        f"cannot be converted for OpenVINO ({first[:160]})",
        path=name,
        allowed="a run without --runtime openvino",
        code="unsupported",
    )
