"""Output to terminals: in their encoding, with control characters made harmless."""

import codecs
import io
import re
import sys

import click

_PLAIN = {
    "–": "-", "—": "-", "−": "-", "…": "...", "†": "+", "±": "+-", "·": "-", "×": "x", "→": "->",
    "“": '"', "”": '"', "‘": "'", "’": "'", "≤": "<=", "≥": ">=", "Δ": "d", "ω": "w", "φ": "phi",
}  # fmt: skip
"""What our own texts and tables use beyond ASCII."""
_WRAPPED: list[io.TextIOWrapper] = []
"""Streams behind a :class:`SafeText`; without a reference they would close its file."""


# Control characters (ANSI escapes, carriage returns), what turns the direction of writing, and what
# has no width. Joiners (U+200C, U+200D) stay: some languages are written with them.
_ACTIVE = (
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f"
    "\\ufeff\\ufff9-\\ufffb\\U000e0000-\\U000e007f]"
)
# What GitHub and Azure take for commands in the log of a workflow.
_COMMAND = r"(?m)^([^\S\n]*):(?=:)"
_OLD_COMMAND = r"##(?=\[|vso\[)"


class SafeText(io.TextIOWrapper):
    """Standard stream that escapes what would act on a terminal or in a workflow's log.

    What would act on a terminal or in a workflow's log is written as ``\\u1234``; in JSON that is
    the same character.
    """

    _is_line_start = True

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """Encoding of the stream; ASCII is reported as UTF-8, so that click writes through it."""
        # click would go around a stream in ASCII, and write UTF-8.
        return "utf-8" if codecs.lookup(super().encoding).name == "ascii" else super().encoding

    def write(self, text: str, /) -> int:
        """Write text with control characters and workflow commands escaped."""
        is_plain = text.replace("\n", "").isprintable()  # nothing active is printable
        safe = text if is_plain else re.sub(_ACTIVE, lambda match: _escape(match[0]), text)
        if "::" in safe:
            begun = "" if self._is_line_start else "."  # a line that was begun before is no start
            safe = re.sub(_COMMAND, r"\1\\u003a", begun + safe)[len(begun) :]
        safe = re.sub(_OLD_COMMAND, r"#\\u0023", safe) if "##" in safe else safe
        if text:
            self._is_line_start = text.endswith("\n")
        super().write(safe)
        return len(text)

    def __del__(self) -> None:
        """Detach this stream from its file without closing the file."""
        # The file is closed by its opener. When the process ends, this module's imports are gone.
        try:
            self.detach()
        except ValueError:  # it is closed already
            return


def make_output_safe() -> None:
    """Let stdout and stderr replace characters that their encoding lacks, instead of failing.

    Our own typographic characters get a plain look; everything else is shown as ``\\u1234``, so
    that nothing is lost. What would act on a terminal is escaped, too (:class:`SafeText`).
    """
    codecs.register_error("citeforge", _replace_unencodable)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper) and not isinstance(stream, SafeText):
            stream.reconfigure(errors="citeforge")
            _WRAPPED.append(stream)
            safe = SafeText(
                stream.buffer, stream.encoding, stream.errors, line_buffering=stream.line_buffering
            )
            setattr(sys, name, safe)


def echo_wrapped(text: str, indent: int = 0) -> None:
    """Print a text wrapped to the width of the terminal; later lines are indented further."""
    from shutil import get_terminal_size
    from textwrap import wrap

    first = " " * indent
    lines = wrap(
        text, get_terminal_size().columns, initial_indent=first, subsequent_indent=f"{first}  ",
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    click.echo("\n".join(lines))


def write_data(text: str) -> None:
    """Write data to standard output, always as UTF-8."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "surrogatepass"))
    sys.stdout.buffer.flush()


def _replace_unencodable(error: UnicodeError) -> tuple[str, int]:
    """Replace characters that an encoding lacks (codecs error handler)."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(_PLAIN.get(c) or _escape(c) for c in lacking), error.end


def _escape(character: str) -> str:
    """Escape a character as ``\\u1234`` in UTF-16 units."""
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
