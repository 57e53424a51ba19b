"""Why models stop, by the names that vendors document."""

import pytest

from citeforge.schemas.finish_reasons import Ending, is_cut, read_ending, unless_whole

DOCUMENTED = {
    "OpenAI": ("stop tool_calls function_call", "length content_filter max_output_tokens"),
    "Anthropic": (
        "end_turn stop_sequence tool_use",
        "max_tokens pause_turn refusal model_context_window_exceeded",
    ),
    "Gemini": (
        "STOP",
        "MAX_TOKENS SAFETY RECITATION LANGUAGE OTHER BLOCKLIST PROHIBITED_CONTENT SPII "
        "MALFORMED_FUNCTION_CALL IMAGE_SAFETY UNEXPECTED_TOOL_CALL FinishReason.SAFETY "
        "FINISH_REASON_MAX_TOKENS",
    ),
    "Cohere": (
        "COMPLETE STOP_SEQUENCE TOOL_CALL",
        "MAX_TOKENS ERROR ERROR_TOXIC ERROR_LIMIT USER_CANCEL TIMEOUT",
    ),
    "Bedrock": (
        "end_turn tool_use stop_sequence FINISH",
        "max_tokens guardrail_intervened content_filtered malformed_model_output",
    ),
    "Mistral": ("stop tool_calls", "length model_length error"),
    "DeepSeek": ("stop", "length content_filter insufficient_system_resource"),
    "GLM": ("stop", "sensitive network_error"),
    "Grok": (
        "REASON_STOP REASON_TOOL_CALLS",
        "REASON_MAX_LEN REASON_MAX_CONTEXT REASON_TIME_LIMIT",
    ),
    "YandexGPT": (
        "ALTERNATIVE_STATUS_FINAL",
        "ALTERNATIVE_STATUS_TRUNCATED_FINAL ALTERNATIVE_STATUS_CONTENT_FILTER",
    ),
    "watsonx": ("eos_token stop_sequence", "max_tokens time_limit cancelled token_limit"),
    "Hugging Face": ("eos_token stop_sequence", "length"),
    "vLLM, SGLang": ("stop", "length abort repetition"),
    "Ollama": ("stop load unload", "length"),
    "the AI SDK": ("stop tool-calls", "length content-filter error other"),
    "OpenAI's Responses": ("completed", "incomplete failed cancelled in_progress"),
}


@pytest.mark.parametrize("vendor", DOCUMENTED)
def test_every_documented_name_is_known(vendor: str) -> None:
    whole, cut = (names.split() for names in DOCUMENTED[vendor])
    assert [name for name in whole if read_ending(name) is not Ending.WHOLE] == []
    assert [name for name in cut if not is_cut(name)] == []


def test_an_unknown_name_is_neither_whole_nor_cut() -> None:
    assert read_ending("moon_phase") is Ending.UNKNOWN
    assert not is_cut("moon_phase")
    assert (unless_whole("moon_phase"), unless_whole("STOP")) == ("moon_phase", None)
    assert (read_ending(None), read_ending("")) == (Ending.WHOLE, Ending.WHOLE)
