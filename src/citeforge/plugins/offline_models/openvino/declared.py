"""OpenVINO, as entry points name it."""

from collections.abc import Callable
from typing import Any

from citeforge.engines.models.compute import Accelerator, BatchScorer, Compiler
from citeforge.engines.models.files import Located
from citeforge.plugins.offline_models.openvino.convert import TorchModel, float32_model
from citeforge.plugins.offline_models.openvino.embed import FastEmbedder
from citeforge.plugins.offline_models.openvino.runtime import Compiled, engine_name, widened


def _compiler(what: str, run: Callable[[Any, dict[str, Any]], Any]) -> Compiler:
    """Compiles a model in float32; ``run`` asks it for ``what``."""

    def compile_model(
        located: Located, model: Any, example: dict[str, Any], pad: int
    ) -> BatchScorer:
        import torch

        source = TorchModel(located, model, run, example, what, pad)
        compiled = Compiled(float32_model(source), torch.get_num_threads())

        def compute(batch: dict[str, Any]) -> Any:
            inputs = widened(batch, source.names, source.pad)
            return torch.from_numpy(compiled(list(inputs.values())))

        return compute

    return compile_model


OPENVINO = Accelerator(
    engine_name,
    FastEmbedder,
    _compiler("logits", lambda model, inputs: model(**inputs).logits),
    _compiler("scores", lambda model, inputs: model(inputs)["scores"]),
)
