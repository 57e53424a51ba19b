"""Linear layers whose weights lie in memory as oneDNN multiplies them.

torch gives products of float32 matrices on a CPU to MKL, which is two to four times as slow as
oneDNN on processors of AMD and for the few rows of a step of generation (docs/performance.md).
torch's own compiler packs weights like that; here it is done without compiling.
"""

from typing import Any


def pack_linears(model: Any) -> None:
    """Take the place of every linear layer of a float32 model on the CPU, for inference alone.

    Sums are those of float32 in another order. Nothing is done where torch has no oneDNN.

    Args:
        model: a ``torch.nn.Module``. Weights that nothing else holds are freed.
    """
    import torch

    if not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return
    linear = _linear()
    for parent in list(model.modules()):
        for name, layer in list(parent.named_children()):
            if type(layer) is torch.nn.Linear and layer.weight.dtype == torch.float32:
                setattr(parent, name, linear(layer))


def _linear() -> Any:
    """The layer; torch is imported when it is first needed."""
    import torch

    class PackedLinear(torch.nn.Module):  # type: ignore[misc, unused-ignore]
        """``torch.nn.Linear`` with a packed weight."""

        def __init__(self, layer: Any) -> None:
            super().__init__()
            self.bias = layer.bias
            with torch.inference_mode():
                self.packed = torch.ops.mkldnn._reorder_linear_weight(layer.weight.detach(), None)

        def forward(self, rows: Any) -> Any:
            """Shape (…, in) to (…, out)."""
            return torch.ops.mkldnn._linear_pointwise(rows, self.packed, self.bias, "none", [], "")

    return PackedLinear
