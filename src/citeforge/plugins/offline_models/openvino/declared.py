"""OpenVINO, as entry points name it."""

from __future__ import annotations

from citeforge.engines.models.compute import Accelerator
from citeforge.plugins.offline_models.openvino.classify import classifier, cross_encoder
from citeforge.plugins.offline_models.openvino.embed import FastEmbedder
from citeforge.plugins.offline_models.openvino.runtime import engine_name

OPENVINO = Accelerator(engine_name, FastEmbedder, classifier, cross_encoder)
