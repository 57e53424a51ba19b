"""Reasons why models stop, by the names that vendors and servers give them: one table for all.

A name is compared in lower case, ``-`` and white space as ``_``.
"""

import re
from enum import StrEnum

TRUNCATED = "length"
"""``finish_reason`` of an answer that was cut, as the OpenAI protocol names it."""


class Ending(StrEnum):
    """How an answer ended."""

    WHOLE = "whole"
    """The model was done, or gave the word to a tool."""
    LIMIT = "limit"
    """A limit of tokens or of time cut the answer."""
    WITHHELD = "withheld"
    """A filter or a refusal cut the answer."""
    BROKEN = "broken"
    """A fault, or the caller, cut the answer."""
    UNKNOWN = "unknown"
    """No vendor known here uses this name."""


_NAMES = {
    Ending.WHOLE: """
        stop end_turn stop_sequence stop_sequences complete completed eos eos_token end_of_text
        end_of_sequence end end_id finish finished done success succeeded normal word stop_word
        stop_words stop_str natural_stop alternative_status_final reason_stop
        tool_calls tool_call tool_use function_call reason_tool_calls load unload
        refused null none""",
    Ending.LIMIT: """
        length limit max_tokens max_output_tokens max_length max_new_tokens max_completion_tokens
        model_length token_limit context_length context_length_exceeded context_window_exceeded
        model_context_window_exceeded error_limit reason_max_len reason_max_context
        alternative_status_truncated_final""",
    Ending.WITHHELD: """
        content_filter content_filtered safety recitation prohibited_content blocklist blacklist
        spii language other sensitive model_armor guardrail_intervened error_toxic refusal
        alternative_status_content_filter image_safety image_prohibited_content image_recitation
        image_other no_image""",
    Ending.BROKEN: """
        error internal_error failed network_error abort aborted cancel cancelled canceled
        user_cancel interrupted in_progress queued not_finished incomplete pause_turn compaction
        timeout time_limit reason_time_limit insufficient_system_resource repetition
        malformed_function_call malformed_response malformed_model_output malformed_tool_use
        unexpected_tool_call too_many_tool_calls missing_thought_signature
        rag_query_when_rag_disabled""",
}
"""Names that OpenAI, Anthropic, Gemini, Cohere, Mistral, DeepSeek, GLM, Grok, YandexGPT, GigaChat,
Bedrock, watsonx, Ollama, vLLM, SGLang, Hugging Face, TensorRT-LLM, llama.cpp, the AI SDK and
inspect_ai use; ``refused`` is ours, for a refusal that is the whole answer."""
_ENDINGS = {name: ending for ending, names in _NAMES.items() for name in names.split()}
_PREFIX = re.compile(r"(?:finish_reason_|finishreason\.)")
_SEPARATORS = re.compile(r"[\s-]+")


def read_ending(finish_reason: str | None) -> Ending:
    """Look up by ``finish_reason`` how an answer ended (complete, cut, …); complete without one."""
    name = _SEPARATORS.sub("_", (finish_reason or "").strip().lower())
    if not name:
        return Ending.WHOLE
    return _ENDINGS.get(name) or _ENDINGS.get(_PREFIX.sub("", name), Ending.UNKNOWN)


def is_cut(finish_reason: str | None) -> bool:
    """Whether an answer with this ``finish_reason`` ends before the model was done."""
    return read_ending(finish_reason) in (Ending.LIMIT, Ending.WITHHELD, Ending.BROKEN)


def unless_whole(finish_reason: str) -> str | None:
    """Return a ``finish_reason``, or None if it means that the answer is complete."""
    return None if read_ending(finish_reason) is Ending.WHOLE else finish_reason
