"""``build kalma --dry-run``: count LLM calls by a trial build with template replies."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from citeforge.builders.kalma.asker import embedded_templates
from citeforge.builders.kalma.build import select_pairs
from citeforge.builders.kalma.check import ExtensionCheck
from citeforge.builders.kalma.evolve import TRIPLES_PER_ROUND, Evolver
from citeforge.engines.llm.budget import Bound, RunPlan
from citeforge.engines.llm.records import Request, Result
from citeforge.engines.llm.writers import TemplateWriter, llm_for_dry_run
from citeforge.engines.models.perplexity import make_perplexity
from citeforge.engines.running.setup import replay_path
from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.kg.equivalence import read_equivalence
from citeforge.kg.graph import open_graph
from citeforge.schemas.errors import UsageError
from citeforge.schemas.recipes.base import RunOptions
from citeforge.schemas.recipes.kalma import RULE, KalmaRecipe


class _RequestRecorder:
    """Stand-in LLM: records the requests for the real writer, and replies by template."""

    def __init__(self, name: str, template: TemplateWriter) -> None:
        """Start without requests, under the real LLM's name, with the template that replies."""
        self.name, self.template = name, template
        self.requests: list[Request] = []

    def identity(self) -> dict[str, Any]:
        """Return the name of the real LLM, so that the build sends the same requests to it."""
        return {"name": self.name}

    def complete(self, requests: Sequence[Request]) -> list[Result]:
        """Record LLM requests, and reply to each from a template instead of asking the LLM."""
        self.requests += requests
        return self.template.complete(requests)


def plan_kalma(recipe: KalmaRecipe, run: RunOptions) -> RunPlan:
    """Count the fewest and most LLM calls of a KaLMA build, without asking a model.

    Raises:
        InputError: the graph or the pairs file is at fault.
        UsageError: a writer that is not asked over a network.
    """
    llm = llm_for_dry_run(recipe.writer, run, replay_path(run, recipe.writer), templates={})
    if recipe.source is not None:
        raise UsageError(
            "--dry-run: a build from --source asks no LLM", code="option-without-effect"
        )
    kg = open_graph(recipe.kg, recipe.domain, recipe.languages, run)
    pairs = select_pairs(recipe, kg).pairs
    recorder = _RequestRecorder(recipe.writer, TemplateWriter(embedded_templates(kg.domain)))
    ngram = partial(make_perplexity, "ngram")
    check = ExtensionCheck(kg.domain, SentenceSegmenter(), None)
    equivalence = read_equivalence(kg, (g for p in pairs for g in p.graphs))
    Evolver(kg, recorder, ngram, check, recipe.choices, recipe.seed).evolve(pairs, equivalence)
    plan = llm.plan(recorder.requests)
    per_pair = {
        "seed": 1,
        "annotate": 1,
        "extend": recipe.choices.max_facts * TRIPLES_PER_ROUND,
        "general": 1,
        "specific": 1,
    }
    most = Bound()
    for task, n in per_pair.items():
        asked = [r for r in recorder.requests if r.task == task]
        bounds = [llm.plan([request]).most for request in asked]
        largest = max(bounds, key=lambda b: b.prompt_tokens, default=Bound())
        most += replace(largest, calls=1).times(len(pairs) * n * recipe.choices.attempts)
    notes = ["paragraphs are as long as the template's"]
    if recipe.judging.judge is not None:
        notes.append("not counted: questions to the judge, one per extended paragraph at most")
    if recipe.checker != RULE:
        notes.append("not counted: the checker, about three calls per question")
    if recipe.perplexity.startswith("openai:"):
        notes.append("not counted: perplexities")
    return replace(plan, most=most, notes=tuple(notes))
