"""Exported benchmarks as tasks of lighteval, scored by the code of ``citeforge score``."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lighteval.metrics.metrics_corpus import CorpusLevelComputation
from lighteval.metrics.metrics_sample import SampleLevelComputation
from lighteval.metrics.utils.metric_utils import CorpusLevelMetric
from lighteval.models.model_output import ModelResponse
from lighteval.tasks.lighteval_task import LightevalTaskConfig
from lighteval.tasks.requests import Doc, SamplingMethod

from citeforge.plugins.responses.task_files import PACKAGE, PROMPTS, read_task
from citeforge.plugins.responses.task_scoring import Settings, list_raw_values, open_scoring
from citeforge.schemas.submission import SubmissionLine

_METRIC = "citeforge"


class AnswerLine(SampleLevelComputation):  # type: ignore[misc]
    """Per sample: the answer as a line of a submission."""

    def compute(self, model_response: ModelResponse, doc: Doc, **_: object) -> dict[str, str]:
        """Get a sample's query id, context set and answer text, for scoring the whole run."""
        texts = model_response.final_text
        return {**doc.specific, "output": texts[0] if texts else ""}


class AllMeasures(CorpusLevelComputation):  # type: ignore[misc]
    """Over all samples: the measures of ``citeforge score``, as raw values."""

    def __init__(self, settings: Settings) -> None:
        """Make the corpus metric that scores answers by these settings."""
        self.settings = settings

    def compute_corpus(self, items: Sequence[dict[str, str]]) -> dict[str, float]:
        """Score all answers of a run: values (not in %) by name, and errors ``NAME_stderr``."""
        answers = [
            SubmissionLine(item["query_id"], item["output"], context=item["context"])
            for item in items
        ]
        return list_raw_values(open_scoring(self.settings).score_all(answers))


def make_doc(row: dict[str, Any], task_name: str) -> Doc:
    """Convert an exported prompt (line of ``prompts.jsonl``) to a lighteval sample."""
    ids = {"query_id": row["query_id"], "context": row["context"]}
    return Doc(query=row["prompt"], choices=[""], gold_index=0, task_name=task_name, specific=ids)


def exported_task(folder: Path) -> LightevalTaskConfig:
    """Make the lighteval task of a folder that ``citeforge export lighteval`` wrote.

    Args:
        folder: folder of the task's file.

    Raises:
        CiteforgeError: a file of the folder, a measure or the judge cannot be had.
    """
    folder = folder.absolute()
    task = read_task(folder)
    settings = Settings(
        str(folder / PACKAGE), None, tuple(task.measures), task.protocol, task.judge
    )
    opened = open_scoring(settings).benchmark
    opened.require_hash(task.benchmark_hash, folder / PACKAGE, 1)
    metric = CorpusLevelMetric(
        metric_name=_METRIC, higher_is_better=True, category=SamplingMethod.GENERATIVE,
        sample_level_fn=AnswerLine(), corpus_level_fn=AllMeasures(settings),
    )  # fmt: skip
    return LightevalTaskConfig(
        name=task.name, prompt_function=make_doc, hf_repo=str((folder / PROMPTS).parent),
        hf_subset="default", hf_avail_splits=["train"], evaluation_splits=["train"],
        metrics=[metric], generation_size=1024,
    )  # fmt: skip
