"""Models of torch to OpenVINO's format, in float32 and, calibrated, in int8; nothing is fetched."""

import io
import logging
import warnings
from collections.abc import Callable, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from citeforge.engines.io.files import digest
from citeforge.engines.models.files import Located
from citeforge.plugins.offline_models.openvino.runtime import Arrays, Compiled, openvino
from citeforge.plugins.offline_models.openvino.store import kept
from citeforge.schemas.errors import InputError, extras_named

NAMES = ("input_ids", "attention_mask", "token_type_ids")
"""Inputs that text encoders have; a model may lack the last."""

_FORMAT = 1
_TOLERANCE = 1e-3
"""Largest difference allowed between torch's output and the converted model's, relative to the
largest value of it (seen: 2e-6)."""


@dataclass(frozen=True)
class TorchModel:
    """A model of torch that is to be converted.

    Attributes:
        located: where it is, and what identifies its content.
        module: torch module, float32, on the CPU.
        run: asks it: (module, dictionary of inputs) to one tensor.
        example: a tokenised batch of two different lengths.
        what: role of the output, part of the key.
        pad: token id that fills up.
    """

    located: Located
    module: Any
    run: Callable[[Any, dict[str, Any]], Any]
    example: dict[str, Any]
    what: str
    pad: int = 0

    @property
    def names(self) -> list[str]:
        """Its inputs, in order."""
        return [n for n in NAMES if n in self.example]

    def key(self, **more: Any) -> str:
        """Digest of weights, versions, and what else a conversion depends on."""
        versions = {n: version(n) for n in ("openvino", "nncf", "transformers")}
        own = {"format": _FORMAT, "what": self.what, "weights": self.located.identity}
        return digest({**own, **versions, **more})


def float32_model(source: TorchModel) -> Path:
    """The model in float32.

    Raises:
        InputError: OpenVINO cannot convert it, or computes something else.
    """

    def make(folder: Path) -> None:
        ov = openvino()
        wrapped = _wrapped(source)
        example = {n: source.example[n] for n in source.names}
        try:
            with _quiet():
                model = ov.convert_model(wrapped, example_input=example)
        # Whatever torch's tracer and OpenVINO's frontend raise for an operation they do not know.
        except Exception as error:
            raise _unusable(source, str(error)) from error
        ov.save_model(model, folder / "float32.xml", compress_to_fp16=False)
        _compare(source, Compiled(folder / "float32.xml", 1))

    return kept(source.key(), make) / "float32.xml"


def int8_model(source: TorchModel, calibration: Sequence[Arrays], texts: str) -> Path:
    """The model with linear layers in int8 (static quantisation after training, SmoothQuant and
    bias correction, as nncf does it for transformers).

    Args:
        source: the model.
        calibration: inputs to calibrate on, one text each.
        texts: digest of the texts that they were made from.

    Raises:
        InputError: it cannot be converted.
    """
    exact = float32_model(source)

    def make(folder: Path) -> None:
        ov = openvino()
        with _quiet(), extras_named():
            import nncf

            model = nncf.quantize(
                ov.Core().read_model(exact),
                nncf.Dataset(list(calibration), list),
                model_type=nncf.ModelType.TRANSFORMER,
                subset_size=len(calibration),
            )
        ov.save_model(model, folder / "int8.xml")

    return kept(source.key(calibration=texts), make) / "int8.xml"


def _wrapped(source: TorchModel) -> Any:
    import torch

    class Wrapped(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.module = source.module  # its weights are parameters of this one

        def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any = None) -> Any:
            inputs = dict(zip(NAMES, (input_ids, attention_mask, token_type_ids), strict=True))
            return source.run(self.module, {k: v for k, v in inputs.items() if v is not None})

    return Wrapped().eval()


def _compare(source: TorchModel, model: Compiled) -> None:
    """Refuse a conversion that computes something else."""
    import torch

    with torch.inference_mode():
        expected = source.run(source.module, {n: source.example[n] for n in source.names}).numpy()
    actual = model([source.example[n].numpy() for n in source.names])
    real = source.example["attention_mask"].numpy().astype(bool)
    if expected.ndim == 3:  # a vector a token; those of padding are nobody's
        expected, actual = expected[real], actual[real]
    off = float(np.abs(expected - actual).max() / np.abs(expected).max())
    if not off <= _TOLERANCE:
        raise _unusable(source, f"its output would be off by {off:.1%}")


def _unusable(source: TorchModel, reason: str) -> InputError:
    first = next(iter(reason.strip().splitlines()), "no reason given")
    return InputError(
        f"cannot be converted for OpenVINO ({first[:160]})",
        path=source.located.folder,
        allowed="--compute fp32, or bf16 where the processor has it",
        code="unsupported",
    )


@contextmanager
def _quiet() -> Any:
    """Without the bars and remarks of converters, which are about their own insides."""
    level = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(level)
