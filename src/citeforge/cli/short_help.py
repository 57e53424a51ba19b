"""Short help of commands with many options: the main ones first, the rest with ``--help-all``.

``SECTIONS`` is the one place that says which options are not for the first page.
"""

from typing import Any

import click

SHOW_ALL = "citeforge: all options"
"""Key of a context's ``meta`` that makes help texts complete."""
MOST_OPTIONS = 15
"""Options that ``--help`` shows at most, beside --help and --help-all."""
SECTIONS = {
    "How the judge decides": (
        "judge_profile revision threshold max_tokens runtime verdicts "
        "strong_judge cross_encoder least_score contained"
    ),
    "Embedding": (
        "embedder_revision compute query_prefix passage_prefix vectors query_vectors "
        "vectors_model embeddings shard_rows"
    ),
    "Which negatives are mined": (
        "seemingly_relevant irrelevant skip_top max_score margin relative_margin exclude_answers "
        "exclude_contained keep_self candidates remine decided drop_suspects skip_contradictions"
    ),
    "Which rows are read and kept": (
        "extra_corpus extra_prefix extra_licence corpus corpus_split chunk base allow_no_relevant "
        "skip_empty skip_dangling skip_malformed extra_fields keep_failed secret_from largest_line"
    ),
    "How questions and rewrites are made": (
        "languages min_facts max_facts max_shared checker attempts alpha stand_in length_ratio "
        "copy_similarity gold gold_later general ner perplexity oracle passages sub_claims "
        "condense condense_top condense_k sample passage_size largest_file single pair lists "
        "absent tries closed_book longest_copy neighbours shown retrieved"
    ),
    "How measures are computed": (
        "segmenter bertscore_model mauve_model qa_model max_row only_asked only_answered cot "
        "at_most_citations assessments details private"
    ),
    "How an LLM is prompted": (
        "title top_p logprobs window tokenizer template rerank post_cite post_cite_over over "
        "reranker per_statement queries fusion instruction demos turns bare retrieve_only"
    ),
    "Preferences of people": "preferences people tie_threshold agreed",
    "Endpoints, and limits of LLMs": (
        "base_url concurrency timeout max_retries rpm tpm price max_cost store "
        "allow_judge_failures same_server thinking_tokens reasoning_effort batch"
    ),
    "Models on this machine": "device batch_size",
    "Several machines": "engine engine_options",
    "Endpoints of knowledge graphs": "kg_store kg_batch kg_timeout kg_seconds",
}
"""Heading to names of fields; options in no section are on the first page."""
_SECTION_OF = {name: title for title, names in SECTIONS.items() for name in names.split()}


class ManyOptions(click.Command):
    """Command with many options, whose ``--help`` shows only those without a section."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """List the options, and ``--help-all`` if the short help leaves some out."""
        params = super().get_params(ctx)
        if any(some for _, some in self.sections()[1:]):
            params.append(_help_all())
        return params

    def sections(self) -> list[tuple[str, list[click.Option]]]:
        """Group the options under headings, those of the first page first."""
        options = [p for p in self.params if isinstance(p, click.Option) and not p.hidden]
        if len(options) <= MOST_OPTIONS:
            return [("Options", options)]
        grouped: dict[str, list[click.Option]] = {title: [] for title in ("Options", *SECTIONS)}
        for option in options:
            grouped["Options" if option.required else _section_name(option)].append(option)
        return list(grouped.items())

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of the first page; all of them for ``--help-all``."""
        (title, first), *others = self.sections()
        ends = [p for p in self.get_params(ctx) if p not in self.params]
        _write(ctx, formatter, title, [*first, *ends])
        if ctx.meta.get(SHOW_ALL):
            for heading, some in others:
                _write(ctx, formatter, heading, some)


def _section_name(option: click.Option) -> str:
    """Get the heading of an option; "Options" for the first page."""
    names = (option.name or "").split("__")
    return next((_SECTION_OF[n] for n in (names[-1], names[0]) if n in _SECTION_OF), "Options")


def _write(ctx: click.Context, formatter: click.HelpFormatter, title: str, options: Any) -> None:
    """Write the help of some options under a heading."""
    rows = [row for option in options if (row := option.get_help_record(ctx)) is not None]
    if rows:
        with formatter.section(title):
            formatter.write_dl(rows)


def _help_all() -> click.Option:
    """Make the option ``--help-all``."""

    def show(ctx: click.Context, param: click.Parameter, value: bool) -> None:
        """Print the complete help, and exit."""
        if value and not ctx.resilient_parsing:
            ctx.meta[SHOW_ALL] = True
            click.echo(ctx.get_help(), color=ctx.color)
            ctx.exit()

    return click.Option(
        ["--help-all"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=show,
        help="Show this message with all options, and exit.",
    )
