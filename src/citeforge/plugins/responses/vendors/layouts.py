"""The layouts that are read, one declaration each; the first that matches a line counts.

The shapes are those that the tools document: APIs of OpenAI (also Azure, Perplexity, Grok, Mistral
and others that share its protocol), Anthropic, Gemini, Cohere, Bedrock and Ollama; and what RAG
frameworks and evaluation tools save.
"""

from dataclasses import replace

from citeforge.plugins.responses.vendors.layout import Citations, Layout

_ANNOTATIONS = Citations(
    "annotations.* | text.annotations.*",
    in_part=True,
    start="url_citation.start_index | start_index | index",
    end="url_citation.end_index | end_index | index",
    unit="guessed",
    sources=".",
    kinds={"url_citation": "", "file_citation": "", "container_file_citation": ""},
    skipped=("file_path",),
    quote="quote | file_citation.quote",
)
_REFERENCES = Citations("reference_ids.*", in_part=True, is_place=True, names=".")
_TOOL_REFERENCES = Citations(
    ".", in_part=True, is_place=True, sources=".", kinds={"tool_reference": ""}, skipped=("*",)
)
_PASSAGES = "contexts.* | retrieved_contexts.* | retrieved_context.* | passages.* | documents.*"

LAYOUTS = (
    Layout(
        "anthropic",
        "Anthropic's Messages",
        "stop_reason & content | type=message & content | content.*.citations",
        text="content.*",
        finish="stop_reason",
        citations=(
            Citations(
                "citations.*",
                in_part=True,
                sources=".",
                kinds={
                    "char_location": "char",
                    "page_location": "page",
                    "content_block_location": "block",
                    "search_result_location": "block",
                    "web_search_result_location": "",
                },
                quote="cited_text",
                quote_start="start_char_index | start_page_number | start_block_index",
                quote_end="end_char_index | end_page_number | end_block_index",
            ),
        ),
        by="shown",
        is_numbered=True,
    ),
    Layout(
        "openai",
        "a chat completion (OpenAI, Azure, Perplexity, Grok, Mistral, vLLM, …)",
        "choices",
        answers="choices.*",
        text="message.content | text | message.refusal",
        thoughts="message.reasoning_content | message.reasoning | message.thinking",
        finish="finish_reason",
        sources="message.context.citations.* | context.citations.* | citations.* | "
        "search_results.*",
        details="search_results.*",
        base=1,
        citations=(
            replace(_ANNOTATIONS, at="message.annotations.*", in_part=False),
            _ANNOTATIONS,
            _REFERENCES,
            _TOOL_REFERENCES,
        ),
    ),
    Layout(
        "openai",
        "OpenAI's Responses",
        "object=response | output.*.content",
        text="output.*.content.*",
        thoughts="output.*.summary.*.text",
        finish="incomplete_details.reason",
        sources="output.*.results.*",
        base=1,
        citations=(_ANNOTATIONS,),
        between="all",
    ),
    Layout(
        "openai",
        "a message of OpenAI's Assistants",
        "object=thread.message",
        text="content.*",
        citations=(_ANNOTATIONS,),
    ),
    Layout(
        "gemini",
        "Gemini",
        "candidates | prompt_feedback",
        answers="candidates.*",
        text="content.parts.*",
        finish="finish_reason",
        sources="grounding_metadata.grounding_chunks.*",
        base=1,
        citations=(
            Citations(
                "grounding_metadata.grounding_supports.*",
                start="segment.start_index",
                end="segment.end_index",
                part="segment.part_index",
                unit="bytes",
                words="segment.text",
                names="grounding_chunk_indices.*",
                confidence="confidence_scores.*",
            ),
        ),
        between="never",
    ),
    Layout(
        "bedrock",
        "Bedrock's knowledge bases",
        "output.text",
        text="output.text",
        base=1,
        citations=(
            Citations(
                "citations.*",
                start="generated_response_part.text_response_part.span.start",
                end="generated_response_part.text_response_part.span.end",
                has_last=True,
                words="generated_response_part.text_response_part.text",
                sources="retrieved_references.*",
            ),
        ),
    ),
    Layout(
        "bedrock",
        "Bedrock's Converse",
        "output.message.content",
        text="output.message.content.*",
        finish="stop_reason",
        citations=(
            Citations(
                "citations_content.citations.*",
                in_part=True,
                sources=".",
                quote="source_content.0.text",
            ),
        ),
        by="shown",
        is_numbered=True,
    ),
    Layout(
        "cohere",
        "Cohere's Chat, version 2",
        "message.citations | message.tool_plan | message.content & finish_reason",
        text="message.content",
        finish="finish_reason",
        citations=(
            Citations(
                "message.citations.*",
                start="start",
                end="end",
                part="content_index",
                words="text",
                sources="sources.*",
                kinds={"TEXT_CONTENT": ""},
                skipped=("THINKING_CONTENT", "PLAN"),
            ),
        ),
    ),
    Layout(
        "cohere",
        "Cohere's Chat, version 1",
        "text & citations | text & documents | text & generation_id | text & chat_history",
        text="text",
        finish="finish_reason",
        sources="documents.*",
        citations=(
            Citations(
                "citations.*", start="start", end="end", words="text", names="document_ids.*"
            ),
        ),
    ),
    Layout(
        "ollama",
        "Ollama",
        "done & message | done & response",
        text="message.content | response",
        thoughts="message.thinking | thinking",
        finish="done_reason",
    ),
    Layout(
        "llamaindex",
        "LlamaIndex",
        "source_nodes",
        text="response | message | answer | output",
        question="query | query_str | question | input",
        sources="source_nodes.*",
        heading=r"Source \d+:\s*\n",
        has_whole_sources=True,
        needs_text=True,
        is_numbered=True,
    ),
    Layout(
        "haystack",
        "Haystack's answers",
        "answers.*.data | answers.*.init_parameters | %.answers.*.data | init_parameters.data | "
        "%.answers.*.init_parameters | data & documents & query",
        answers="answers.* | %.answers.* | .",
        text="data | init_parameters.data",
        question="query | init_parameters.query",
        finish="meta.finish_reason | init_parameters.meta.finish_reason",
        sources="documents.* | init_parameters.documents.*",
        number="meta.source_index | source_index",
        base=1,
        has_whole_sources=True,
        needs_text=True,
        is_numbered=True,
    ),
    Layout(
        "haystack",
        "a Haystack pipeline",
        "%.replies",
        answers="%.replies.*",
        text=".",
        question="query | question",
        sources="%.documents.*",
        has_whole_sources=True,
        is_numbered=True,
    ),
    Layout(
        "ragas",
        "ragas",
        "user_input | retrieved_contexts | question & contexts",
        text="response | answer | user_input.-1.content",
        question="user_input.-2.content | user_input | question",
        sources="retrieved_contexts.* | contexts.*",
        has_whole_sources=True,
        needs_text=True,
        is_numbered=True,
    ),
    Layout(
        "deepeval",
        "DeepEval",
        "actual_output | retrieval_context",
        text="actual_output",
        question="input",
        sources="retrieval_context.* | context.*",
        has_whole_sources=True,
        needs_text=True,
        is_numbered=True,
    ),
    Layout(
        "langchain",
        "LangChain",
        "source_documents | context.*.page_content | context.*.kwargs | context & answer | "
        "input & answer | input & output & intermediate_steps | query & result",
        text="answer.answer | answer | result | response | output | messages.-1",
        question="question | input | query",
        finish="answer.response_metadata.finish_reason | answer.response_metadata.stop_reason | "
        "answer.kwargs.response_metadata.finish_reason | "
        "answer.kwargs.response_metadata.stop_reason",
        sources="source_documents.* | context.* | documents.*",
        citations=(
            Citations("answer.citations.*", names="source_id | .", quote="quote", is_written=True),
        ),
        has_whole_sources=True,
        needs_text=True,
        is_numbered=True,
    ),
    Layout(
        "traces",
        "spans (Phoenix, Langfuse, OpenTelemetry)",
        "resource_spans | context.trace_id | trace_id & span_id | attributes & span_kind | "
        "trace_id & type | observations",
        text="answer",
        question="question",
        finish="finish_reason",
        sources="documents.*",
        needs_text=True,
        hint="the output of a trace's root span, or of its last call of a model",
        is_numbered=True,
    ),
    Layout(
        "answers",
        "answers under other names than ours",
        "answer | response | prediction | completion | generated_answer | generation",
        text="answer | response | prediction | completion | generated_answer | generation",
        question="question | query | input | prompt",
        finish="finish_reason | stop_reason",
        sources=_PASSAGES,
        has_whole_sources=True,
        needs_text=True,
        is_numbered=True,
    ),
)
