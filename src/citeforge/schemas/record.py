"""Base classes of records, which refuse fields that they do not declare."""

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """Base of all records; validators are built when needed, as few commands need all."""

    model_config = ConfigDict(extra="forbid", defer_build=True)


class FrozenRecord(Record):
    """A record that does not change."""

    model_config = ConfigDict(frozen=True)
