"""``build kalma --dry-run``: count LLM calls by a trial build with template replies."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

from citeforge.builders.kalma.build import check_stats, select_pairs
from citeforge.builders.kalma.check import ExtensionCheck
from citeforge.builders.kalma.evolve import TRIPLES_PER_ROUND, Evolver
from citeforge.builders.kalma.question_check import LEAST, QuestionCheck
from citeforge.builders.kalma.question_check import TRIES as CHECK_TRIES
from citeforge.builders.kalma.question_form import MOST_CHARACTERS
from citeforge.builders.kalma.writer_requests import embedded_templates
from citeforge.builders.writer_prompts import writer_prompt
from citeforge.engines.judge.llm import llm_judge_of
from citeforge.engines.judge.records import Decision, Pair, Verdict
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.ledger import open_ledger
from citeforge.engines.llm.budget import Bound, RunPlan, planned_total, total_plan
from citeforge.engines.llm.records import Failure, LlmReply, Request, Result
from citeforge.engines.llm.writers import CHAT, TemplateWriter
from citeforge.engines.models.perplexity import Perplexity
from citeforge.engines.models.served import ServedPerplexity
from citeforge.engines.running.names import CHECKERS, WRITERS, llm_for_dry_run, make_perplexity
from citeforge.engines.running.setup import build_judge, is_served, replay_path, replay_store
from citeforge.engines.shown import show_amount
from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.engines.textfiles import count_text
from citeforge.kg.classes import merge_classes
from citeforge.kg.equivalence import read_equivalence
from citeforge.kg.graph import open_graph
from citeforge.kg.relabel import relabel_domain
from citeforge.schemas.errors import UsageError
from citeforge.schemas.recipes.base import RunOptions
from citeforge.schemas.recipes.kalma import KalmaRecipe


class _RequestRecorder:
    """Stand-in LLM: records the requests for the real writer, and replies by template."""

    def __init__(self, name: str, template_writer: TemplateWriter) -> None:
        """Start a stand-in for the LLM ``name``; a template writes its replies."""
        self.name, self.template = name, template_writer
        self.requests: list[Request] = []

    def identity(self) -> dict[str, Any]:
        """Return the name of the real LLM, so that the build sends the same requests to it."""
        return {"name": self.name}

    def complete(self, requests: Sequence[Request]) -> list[Result]:
        """Record LLM requests, and reply to each from a template instead of asking the LLM."""
        results = self.template.complete(requests)
        self.requests += map(_with_reply, requests, results)
        return results


def _with_reply(request: Request, result: Result) -> Request:
    """Copy a request with a stand-in model's reply, as an estimate of the real reply's length."""
    text = "" if isinstance(result, Failure) else result.text
    return replace(request, usual_reply=text)


class _AgreeingJudge:
    """Stand-in judge: records the pairs for the real one, and finds each entailed."""

    def __init__(self) -> None:
        """Start a stand-in judge without recorded pairs of premise and hypothesis."""
        self.pairs: list[Pair] = []

    def ask(self, pairs: Iterable[Pair]) -> dict[Pair, Decision]:
        """Record pairs of premise and hypothesis for the estimate; answer that each is entailed."""
        asked = list(pairs)
        self.pairs += asked
        return dict.fromkeys(asked, Verdict(True))


class _CheckRecorder:
    """Stand-in checker: records the requests, and replies that a question asks for nothing else."""

    def __init__(self, name: str) -> None:
        """Start a stand-in question checker without requests, under the real one's name."""
        self.name = name
        self.requests: list[Request] = []

    def identity(self) -> dict[str, Any]:
        """Identify the LLM that it stands for, by its name."""
        return {"name": self.name}

    def complete(self, requests: Sequence[Request]) -> list[Result]:
        """Record question-check requests; reply to each that all its facts are asked for."""
        numbers = [list(range(1, len(r.values["facts"].splitlines()) + 1)) for r in requests]
        results = [LlmReply(json.dumps({"asked": n, "other": []})) for n in numbers]
        self.requests += map(_with_reply, requests, results)
        return list(results)


class _PerplexityRecorder:
    """N-gram perplexities of a trial build, whose texts are noted for the served model."""

    def __init__(
        self, seed_sentences: list[str], served_perplexity: ServedPerplexity, max_tries: int
    ) -> None:
        """Train an n-gram model on seed sentences; ``max_tries`` bounds real requests per text."""
        self._ngram = make_perplexity("ngram", seed_sentences)
        self._served, self._tries = served_perplexity, max_tries

    def identity(self) -> dict[str, Any]:
        """Describe the n-gram model."""
        return self._ngram.identity()

    def compute(self, texts: Sequence[str]) -> list[float]:
        """Record texts for the real model's cost estimate; return their perplexities by n-grams."""
        self._served.rehearse(texts, self._tries)
        return self._ngram.compute(texts)


def plan_kalma(recipe: KalmaRecipe, run: RunOptions) -> RunPlan:
    """Count the fewest and most calls of a KaLMA build to its models, without asking any.

    Raises:
        InputError: the graph or the pairs file is at fault.
        UsageError: a writer that is not asked over a network.
    """
    named = (recipe.writer, recipe.perplexity, recipe.checker)
    store = replay_path(run, *named)
    llm = llm_for_dry_run(recipe.writer, run, store, catalogue=WRITERS, templates={})
    if recipe.source is not None:
        raise UsageError(
            "--dry-run: a build from --source asks no LLM", code="option-without-effect"
        )
    attempts, stored = recipe.choices.attempts, replay_store(run, *named)
    judge = llm_judge_of(build_judge(recipe.judging, run, stored))
    agreeing = _AgreeingJudge()
    kg = open_graph(recipe.kg, recipe.domain, recipe.languages, run)
    relabel_domain(kg)
    pairs = select_pairs(recipe, kg).pairs
    recorder = _RequestRecorder(recipe.writer, TemplateWriter(embedded_templates(kg.domain)))
    words = merge_classes(kg.domain)
    check = ExtensionCheck(
        words, SentenceSegmenter(), None if judge is None else cast(JudgeSession, agreeing)
    )
    equivalence = read_equivalence(kg, (g for p in pairs for g in p.graphs))
    asking = _CheckRecorder(recipe.checker)
    asks = QuestionCheck(words, asking if is_served(recipe.checker) else None)
    with open_ledger() as ledger:
        perplexity: Callable[[list[str]], Perplexity] = partial(make_perplexity, "ngram")
        if is_served(recipe.perplexity):
            dry = run.model_copy(update={"dry_run": True, "store": store})
            served = ServedPerplexity(recipe.perplexity.partition(":")[2], stored, dry)
            perplexity = partial(_PerplexityRecorder, served_perplexity=served, max_tries=attempts)
        evolver = Evolver(kg, recorder, perplexity, check, recipe.choices, recipe.seed, asks)
        usable = [e for e in evolver.evolve(pairs, equivalence) if not e.dropped]
        if asks.llm is not None:
            check_stats(asks, usable)
    # A round tries some of the facts that are left, each at every attempt.
    n_facts = recipe.choices.max_facts
    n_extensions = sum(min(TRIPLES_PER_ROUND, left) for left in range(1, n_facts + 1))
    per_pair = {"seed": 1, "annotate": 1, "extend": n_extensions, "general": 1, "specific": 1}
    most = Bound()
    for task, n in per_pair.items():
        bounds = (llm.plan([], [_refused(r)]).most for r in recorder.requests if r.task == task)
        most += _largest(bounds).times(len(pairs) * n * attempts)
    plan = llm.plan(recorder.requests)
    usual = plan.about.times(attempts)
    cost = "" if plan.price is None else f", cost about {show_amount(usual.cost(plan.price), 4)}"
    notes = (
        "paragraphs are as long as the template's",
        f"if every text takes all {attempts} attempts: {count_text(usual.calls, 'call')}{cost}",
        f"at most: {n_facts} facts per question, and in each round all attempts at all facts left, "
        f"{TRIPLES_PER_ROUND} at most",
    )
    parts = {llm.bill_label(CHAT): replace(plan, most=most, notes=notes)}
    if judge is not None:
        bounds = (judge.plan_calls([], [pair]).most for pair in agreeing.pairs)
        most = _largest(bounds).times(2 * len(pairs) * n_extensions * attempts)
        parts[judge.llm.bill_label(CHAT)] = replace(judge.plan_calls(agreeing.pairs), most=most)
    if asks.llm is not None:
        checker = llm_for_dry_run(recipe.checker, run, store, catalogue=CHECKERS)
        # Controls, and the questions that no rule can decide.
        bounds = (checker.plan([], [r]).most for r in asking.requests)
        again = _largest(bounds).times(CHECK_TRIES * len(LEAST) * len(pairs) * attempts)
        plan = checker.plan(asking.requests, tries=CHECK_TRIES)
        parts[checker.bill_label(CHAT)] = replace(plan, most=plan.most + again)
    if ledger.planned:
        parts[f"perplexity {recipe.perplexity}"] = planned_total(ledger)
    return total_plan(parts)


def _refused(request: Request) -> Request:
    """Make the request that follows a refused reply: the reason quotes a question at most."""
    values = {**request.values, "again": "?" * MOST_CHARACTERS}
    prompt = writer_prompt(f"kalma/{request.task}")
    return replace(request, messages=prompt.request(values, request.params).messages)


def _largest(bounds: Iterable[Bound]) -> Bound:
    """Get the bound with the longest prompts; zero without bounds."""
    return max(bounds, key=lambda bound: bound.prompt_tokens, default=Bound())
