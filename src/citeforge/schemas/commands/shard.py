"""Which share of the work is one process's."""

import re
from typing import Any

from pydantic import Field, model_validator

from citeforge.schemas.record import FrozenRecord

_TEXT = re.compile(r"(?P<number>\d+)/(?P<of>\d+)")


class Shard(FrozenRecord):
    """One of several equal shares; as text ``2/5``, the second of five."""

    number: int = Field(ge=1)
    """1-based."""
    of: int = Field(ge=1)
    """How many shares there are."""

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        match = _TEXT.fullmatch(value.strip())
        if not match or not 1 <= int(match[1]) <= int(match[2]):
            raise ValueError("expected I/N, the I-th of N shares, such as 2/5 (1 ≤ I ≤ N)")
        return match.groupdict()

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def has(self, index: int) -> bool:
        """Whether the thing at a 0-based index is this share's."""
        return index % self.of == self.number - 1
