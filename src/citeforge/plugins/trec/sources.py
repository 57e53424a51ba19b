"""Sources of ad hoc retrieval: TREC folders, MIRACL, and the catalogue of ir_datasets."""

from __future__ import annotations

from pathlib import Path

from citeforge.ir_convert.registry import declared_sources
from citeforge.plugins.trec.folders import open_miracl, open_trec
from citeforge.plugins.trec.ir_datasets import open_ir_datasets

_SOURCES = declared_sources(
    Path(__file__).parent / "data",
    {"trec": open_trec, "miracl": open_miracl, "ir-datasets": open_ir_datasets},
)
TREC, MIRACL, IR_DATASETS = _SOURCES.values()
