"""What a run of a TREC track says of itself."""

from __future__ import annotations

from typing import Literal

from citeforge.schemas.recipes.base import Part


class TrecOptions(Part):
    """Options of ``export trec-…``, beside the submission."""

    team: str | None = None
    """trec-…: id of the team."""
    run_id: str | None = None
    """trec-…: id of the run (default: the system's name)."""
    run_desc: str | None = None
    """trec-…: what the run is, in a sentence."""
    run_type: Literal["automatic", "manual"] = "automatic"
    """trec-…: whether people took part."""
    task: str | None = None
    """trec-ragtime25: multilingual or english."""
    starter_kit: bool = False
    """trec-dragun25: the run is made with the starter kit."""
