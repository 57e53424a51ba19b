"""``citeforge doctor``: check of the embedded LLM."""

from citeforge.engines.running.doctor import Examination, Finding
from citeforge.plugins.offline_models.smollm import INSTALL, MODEL, gguf_file
from citeforge.schemas.errors import CiteforgeError, require


def _check_embedded_llm(_: bool) -> Finding:
    """Check that the embedded LLM is installed and its weights are whole."""
    try:
        for module in ("transformers", "gguf", "accelerate"):
            require(module)
        gguf_file()
    except CiteforgeError as error:
        return Finding("offline LLM", None, str(error), INSTALL)
    return Finding("offline LLM", True, f"{MODEL}, weights verified (small: it shows the way)")


OFFLINE_LLM = Examination("offline-llm", _check_embedded_llm)
