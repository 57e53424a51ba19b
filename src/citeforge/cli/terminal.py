"""Output on terminals that do not speak Unicode."""

from __future__ import annotations

import codecs
import io
import sys

_PLAIN = {
    "–": "-", "—": "-", "−": "-", "…": "...", "†": "+", "±": "+-", "·": "-", "×": "x", "→": "->",
    "“": '"', "”": '"', "‘": "'", "’": "'", "≤": "<=", "≥": ">=", "Δ": "d", "ω": "w", "φ": "phi",
}  # fmt: skip
"""What our own texts and tables use beyond ASCII."""


def speak_the_terminals_language() -> None:
    """Let both streams replace what their encoding lacks, instead of ending in an error.

    Our own typographic characters get a plain look; everything else is shown as ``\\uXXXX``, so
    that nothing is lost.
    """
    codecs.register_error("citeforge", _replaced)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="citeforge")


def write_data(text: str) -> None:
    """Write data on standard output: always UTF-8, whatever the terminal speaks."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "surrogatepass"))
    sys.stdout.buffer.flush()


def _replaced(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(_PLAIN.get(c) or _escaped(c) for c in lacking), error.end


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
