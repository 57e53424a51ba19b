"""Declarations of the plugin's LLM, embedder and perplexity models, which the entry points load."""

from citeforge.plugins.offline_models.causal import embedded_model, hub_or_folder
from citeforge.plugins.offline_models.endpoint import EndpointModel, OpenAiEmbedder
from citeforge.plugins.offline_models.offline import OfflineLlm
from citeforge.schemas.choices import EMBEDDERS, LLMS, PERPLEXITY, choice_made_by

LLM = choice_made_by(LLMS, "offline", lambda settings: OfflineLlm(settings.store))
OFFLINE_PERPLEXITY = choice_made_by(PERPLEXITY, "offline", embedded_model)
LOCAL_PERPLEXITY = choice_made_by(PERPLEXITY, "hf", hub_or_folder)
SERVED_EMBEDDER = choice_made_by(EMBEDDERS, "openai", OpenAiEmbedder)
SERVED_PERPLEXITY = choice_made_by(PERPLEXITY, "openai", EndpointModel)
