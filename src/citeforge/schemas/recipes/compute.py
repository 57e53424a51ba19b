"""The numbers that a local model computes in, and the library that computes them."""

from typing import Literal

Chosen = Literal["fp32", "bf16", "int8"]
Compute = Literal["auto", "fp32", "bf16", "int8"]
Runtime = Literal["torch", "openvino"]
