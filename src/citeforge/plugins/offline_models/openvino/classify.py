"""Classifiers and cross-encoders computed by OpenVINO, in float32."""

from __future__ import annotations

from typing import Any

from citeforge.engines.models.compute import BatchScorer
from citeforge.engines.models.files import Located
from citeforge.plugins.offline_models.openvino.convert import TorchModel, float32_model
from citeforge.plugins.offline_models.openvino.runtime import Compiled, widened


def classifier(located: Located, model: Any, example: dict[str, Any], pad: int) -> BatchScorer:
    """A sequence classifier of transformers.

    Args:
        located: where it is, and what identifies it.
        model: it, float32, on the CPU.
        example: a tokenised batch of two different lengths.
        pad: token id that fills up.

    Raises:
        InputError: OpenVINO cannot convert it, or computes something else.
    """
    return _compute(TorchModel(located, model, _logits, example, "logits", pad))


def cross_encoder(located: Located, model: Any, example: dict[str, Any], pad: int) -> BatchScorer:
    """A ``CrossEncoder`` of sentence-transformers, before its activation.

    Raises:
        InputError: see :func:`classifier`.
    """
    return _compute(TorchModel(located, model, _scores, example, "scores", pad))


def _logits(model: Any, inputs: dict[str, Any]) -> Any:
    return model(**inputs).logits


def _scores(model: Any, inputs: dict[str, Any]) -> Any:
    return model(inputs)["scores"]


def _compute(source: TorchModel) -> BatchScorer:
    import torch

    compiled = Compiled(float32_model(source), torch.get_num_threads())

    def compute(batch: dict[str, Any]) -> Any:
        inputs = widened(batch, source.names, source.pad)
        return torch.from_numpy(compiled(list(inputs.values())))

    return compute
