"""Prompts with which builds ask an LLM to write."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import StrictUndefined
from jinja2.sandbox import SandboxedEnvironment

from citeforge.engines.files import digest
from citeforge.engines.llm.records import Request
from citeforge.engines.text.quoting import with_quotes
from citeforge.schemas.errors import InputError

_FOLDER = Path(__file__).parent / "templates"


class WriterPrompt:
    """Prompt template with which a build asks an LLM to write.

    Attributes:
        task: name under which replies are kept.
        sha256: hash of its text, for manifests.
    """

    def __init__(self, name: str, folder: Path = _FOLDER, text: str | None = None) -> None:
        """Compile a prompt template from ``text`` or, without one, from its file in a folder.

        Args:
            name: name of the task, perhaps below folders.
            folder: has the file ``NAME.j2``.
            text: text of the template; None for that of the file.
        """
        self._is_own = text is not None
        if text is None:
            text = (folder / f"{name}.j2").read_text(encoding="utf-8")
        self.task, self.sha256 = Path(name).name, digest(text)
        self._template = SandboxedEnvironment(undefined=StrictUndefined).from_string(text)

    def render(self, values: Mapping[str, Any]) -> str:
        """Fill in the prompt template with values; user texts can be put in quotes.

        Args:
            values: values for the expressions of the template, by name.

        Raises:
            InputError: the template is a user's, and cannot be filled in with these values.
        """
        try:
            return self._template.render(with_quotes(values))
        except Exception as error:  # whatever an expression of the template does
            if not self._is_own:
                raise
            raise InputError(
                f"the prompt {self.task} cannot be filled in ({type(error).__name__}: {error})",
                field=f"prompts.{self.task}", code="bad-template",
                allowed="a template for all texts of a build, such as those without a title",
            ) from error  # fmt: skip

    def request(
        self, values: Mapping[str, Any], params: Mapping[str, Any], attempt: int = 0,
        usual_reply: str = "",
    ) -> Request:  # fmt: skip
        """Make an LLM request from the filled-in prompt; ``usual_reply`` is for cost estimates.

        Args:
            values: values for the expressions of the template, by name.
            params: parameters of the endpoint, such as ``temperature``.
            attempt: number of the attempt, from 0.
            usual_reply: text about as long as the reply, for estimates; empty if unknown.
        """
        messages = (("user", self.render(values)),)
        return Request(
            messages, params, sample=attempt, task=self.task, values=dict(values),
            usual_reply=usual_reply,
        )  # fmt: skip


writer_prompt = cache(WriterPrompt)
"""Load the prompt of a file in ``templates``, named without its ending, once."""
