"""The numbers that a local model computes in."""

from __future__ import annotations

from typing import Literal

Chosen = Literal["fp32", "bf16", "int8"]
Compute = Literal["auto", "fp32", "bf16", "int8"]
