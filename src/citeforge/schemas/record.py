"""What records are made of: they take no field that they do not declare."""

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """A record. Its validator is built when it is first needed, since few commands need all."""

    model_config = ConfigDict(extra="forbid", defer_build=True)


class FrozenRecord(Record):
    """A record that does not change."""

    model_config = ConfigDict(frozen=True)
