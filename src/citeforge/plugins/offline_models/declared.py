"""The embedded LLM, the served embedder, and perplexity by models, as entry points name them."""

from citeforge.engines.models.embed import EmbedderSettings
from citeforge.engines.models.prefixes import prefixes_of
from citeforge.plugins.offline_models.causal import hub_or_folder, offline_model
from citeforge.plugins.offline_models.endpoint import EndpointModel
from citeforge.plugins.offline_models.offline import OfflineLlm
from citeforge.plugins.offline_models.served import OpenAiEmbedder
from citeforge.schemas.choices import EMBEDDERS, LLMS, PERPLEXITY, choice_made_by


def _embedder(model: str, settings: EmbedderSettings) -> OpenAiEmbedder:
    prefixes = settings.prefixes or prefixes_of(model)
    return OpenAiEmbedder(model, prefixes, settings.options, settings.store)


LLM = choice_made_by(LLMS, "offline", lambda settings: OfflineLlm(settings.store))
OFFLINE_PERPLEXITY = choice_made_by(PERPLEXITY, "offline", offline_model)
LOCAL_PERPLEXITY = choice_made_by(PERPLEXITY, "hf", hub_or_folder)
SERVED_EMBEDDER = choice_made_by(EMBEDDERS, "openai", _embedder)
SERVED_PERPLEXITY = choice_made_by(PERPLEXITY, "openai", EndpointModel)
