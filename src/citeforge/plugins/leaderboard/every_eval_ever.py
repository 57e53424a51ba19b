"""``export every-eval-ever``: records of Every Eval Ever, one per score file, answer and measure.

Format: https://github.com/evaleval/every_eval_ever, schema 0.3.0 of both kinds of records.
"""

import hashlib
import json
import math
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from citeforge.engines.files import write_text
from citeforge.evaluator.compare import load_scores
from citeforge.evaluator.measures.registry import direction, find_measure
from citeforge.evaluator.withhold import require_publishable
from citeforge.plugins.leaderboard.results import RepositoryName
from citeforge.publishing.export import DroppedFields, Export
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.file_names import portable_name
from citeforge.schemas.recipes.base import Option, Part
from citeforge.schemas.scores import AnswerDetail, MeasureScore, ScoreFile
from citeforge.schemas.signature import parse_signature
from citeforge.schemas.text import printable

SCHEMA_VERSION = "0.3.0"
_METHODS = {"bootstrap": "bootstrap", "t": "analytic", "normal": "analytic"}


class RecordOptions(Part):
    """Options of ``export every-eval-ever``: facts that score files do not contain."""

    model: Annotated[RepositoryName | None, Option(metavar="ORG/NAME")] = None
    """Model (default: the one that the score file names)."""
    organisation: str = "unknown"
    """Organisation that evaluated."""
    relationship: Literal["first_party", "third_party", "collaborative", "other"] = "other"
    """Relationship of the evaluator to the developer of the model."""
    dataset: Annotated[RepositoryName | None, Option(metavar="ORG/NAME")] = None
    """The benchmark's repository on the Hub."""


def export_every_eval(scores: Path, out: Path, options: RecordOptions) -> DroppedFields:
    """Write score files as records of Every Eval Ever; return what the records leave out.

    The files are ``data/BENCHMARK/ORG/MODEL/UUID.json`` and, of answers, ``UUID_samples.jsonl``.
    The same score file gives the same bytes: the UUID is made from its content, and the time of
    retrieval is that of the file.

    Args:
        scores: score file, or a folder of score files (``*.json``).
        out: folder, there already.
        options: facts that score files do not contain.

    Raises:
        InputError: no score file.
        UsageError: the model is not known as ``ORG/NAME``.
    """
    paths = sorted(scores.glob("*.json")) if scores.is_dir() else [scores]
    if not paths:
        raise InputError(
            "contains no score files",
            path=scores,
            allowed="*.json of `citeforge score`",
            code="no-scores",
        )
    dropped: DroppedFields = []
    for path in paths:
        record = _RecordWriter(path, options)
        record.write(out)
        dropped += [f"{path.name}: {what}" for what in record.list_dropped()]
    return dropped


class _DescribedScore:
    """A score with its measure's definition, range of raw values, and best value."""

    def __init__(self, score: MeasureScore) -> None:
        """Look up definition, range and direction of the score's measure."""
        self.score = score
        self.is_higher_better = direction(score.name)
        self.definition, self.low = score.name, 0.0
        self.high = 1.0 if score.scale == 100 else None
        if (declared := find_measure(score.name.split("[")[0])) is not None:
            self.definition, self.low, self.high = declared.definition, declared.low, declared.high
        # The best value; None if neither direction is better.
        self.best = {True: self.high, False: self.low, None: None}[self.is_higher_better]


class _RecordWriter:
    """Writes the records of one score file in the format of Every Eval Ever."""

    def __init__(self, path: Path, options: RecordOptions) -> None:
        """Load the score file, and make the ids of its records."""
        self.file = load_scores(path)
        require_publishable([self.file])
        strange = {a.query_id for a in self.file.answers} - set(self.file.query_ids)
        if strange:
            raise InputError(
                f"contains an answer to the query {printable(min(strange))}, but no values for it",
                path=path,
                field="answers",
                allowed="one of query_ids; make the file again with score",
                code="unknown-query",
            )
        self.options = options
        self.model = _model_name(self.file, options, path)
        content = path.read_bytes()
        # A UUID of the random kind, made from the file's content.
        self.uuid = uuid.UUID(bytes=hashlib.sha256(content).digest()[:16], version=4)
        self.at = int(path.stat().st_mtime)
        self.id = f"{_slug(self.file.benchmark)}/{self.model.replace('/', '_')}/{self.uuid}"
        self.name = f"{self.file.benchmark}.{self.file.context}"
        self.measures = [_DescribedScore(m) for m in self.file.measures if m.value is not None]

    def write(self, out: Path) -> None:
        """Write a score file's records: one of all measures, and those of its answers if any."""
        organisation, name = self.model.split("/", 1)
        parts = ("data", _slug(self.file.benchmark), _slug(organisation), _slug(name))
        lines = "".join(
            json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n"
            for line in self._make_answer_records()
        )
        aggregate = self._make_aggregate()
        if lines:
            file_path = "/".join((*parts, f"{self.uuid}_samples.jsonl"))
            write_text(out / file_path, lines)
            aggregate["detailed_evaluation_results"] = {
                "format": "jsonl",
                "file_path": file_path,
                "hash_algorithm": "sha256",
                "checksum": hashlib.sha256(lines.encode()).hexdigest(),
                "total_rows": lines.count("\n"),
            }
        text = json.dumps(aggregate, ensure_ascii=False, allow_nan=False, indent=2) + "\n"
        write_text(out.joinpath(*parts, f"{self.uuid}.json"), text)

    def list_dropped(self) -> Iterator[str]:
        """Describe the parts of a score file that the export leaves out."""
        absent = [m.name for m in self.file.measures if m.value is None]
        if absent:
            yield f"measures without a value: {', '.join(absent)}"
        if not self.file.answers:
            yield "records of single answers: score with --details"
            return
        unbounded = [m.score.name for m in self.measures if m.best is None]
        if unbounded:
            yield f"single values of measures that have no best value: {', '.join(unbounded)}"
        yield "the original text of answers; records contain their statements with citations"
        if self.file.counts.n_runs > 1:
            yield "answers of all runs but the first; single values are means over runs"

    def _make_aggregate(self) -> dict[str, Any]:
        """Make the score file's aggregate record: source, model, and an entry per measure."""
        file, about = self.file, self.file.about
        details = {"deployment_type": "unknown", "model_availability": "unknown"}
        if about is not None and about.parameters:
            details["parameters"] = about.parameters
        record: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION,
            "evaluation_id": self.id,
            "retrieved_timestamp": str(self.at),
        }
        if about is not None and about.date:
            record["evaluation_timestamp"] = about.date
        return record | {
            "source_metadata": {
                "source_name": "citeforge",
                "source_type": "evaluation_run",
                "source_organization_name": self.options.organisation,
                "evaluator_relationship": self.options.relationship,
                "additional_details": _to_texts(
                    system=file.system, submission_sha256=file.submission_sha256
                ),
            },
            "eval_library": {
                "name": "citeforge",
                "version": parse_signature(file.measures[0].signature).get("v", "unknown"),
                "additional_details": _to_texts(protocol=file.protocol),
            },
            "model_info": {
                "name": (about.model if about is not None else None) or file.system,
                "id": self.model,
                "developer": self.model.split("/")[0],
                "additional_details": details,
            },
            "evaluation_results": [self._make_measure_entry(m) for m in self.measures],
        }

    def _make_source_data(self) -> dict[str, Any]:
        """Make the record's fields about the benchmark: name, hash, context set, repository."""
        file, repository = self.file, self.options.dataset
        source: dict[str, Any] = {
            "dataset_name": file.benchmark,
            "source_type": "hf_dataset" if repository else "other",
            "additional_details": _to_texts(
                benchmark_hash=file.benchmark_hash, context=file.context
            ),
        }
        if repository:
            source |= {"hf_repo": repository, "samples_number": file.counts.n_queries}
        return source

    def _make_measure_entry(self, measure: _DescribedScore) -> dict[str, Any]:
        """Make the aggregate record's entry for one measure."""
        score, scale = measure.score, measure.score.scale
        return {
            "evaluation_result_id": f"{self.id}#{score.name}",
            "evaluation_name": self.name,
            "source_data": self._make_source_data(),
            "metric_config": {
                "evaluation_description": measure.definition,
                "metric_id": f"citeforge.{score.name}",
                "metric_name": score.name,
                "metric_unit": "percent" if scale == 100 else "points",
                "lower_is_better": measure.is_higher_better is False,
                "score_type": "continuous",
                "min_score": "-Infinity" if math.isinf(measure.low) else measure.low * scale,
                "max_score": "Infinity" if measure.high is None else measure.high * scale,
                "additional_details": _to_texts(
                    signature=score.signature,
                    judge=parse_signature(score.signature).get("judge"),
                    direction="neither" if measure.is_higher_better is None else None,
                ),
            },
            "score_details": {
                "score": score.value,
                "details": _to_texts(**self.file.counts.model_dump()),
                "uncertainty": _make_uncertainty(score),
            },
        }

    def _make_answer_records(self) -> Iterator[dict[str, Any]]:
        """Yield a record per answer and measure, of measures that have a best possible value."""
        at = {query: i for i, query in enumerate(self.file.query_ids)}
        for answer in self.file.answers:
            for measure in self.measures:
                value = measure.score.per_query[at[answer.query_id]]
                if value is not None and measure.best is not None:
                    yield self._make_answer_record(
                        answer, measure.score, value, value == measure.best
                    )

    def _make_answer_record(
        self, answer: AnswerDetail, measure: MeasureScore, value: float, is_best: bool
    ) -> dict[str, Any]:
        """Make the export's record of a measure's value (perhaps its best one) of one answer.

        Args:
            answer: the answer, with question, gold and passages.
            measure: the measure.
            value: its value of the answer, before scaling.
            is_best: whether that is the measure's best value.
        """
        marks = ((s.text, "".join(f" [{c + 1}]" for c in s.cited)) for s in answer.statements)
        output = " ".join(text + cited for text, cited in marks) or "".join(
            f"[{c + 1}]" for c in answer.cited
        )
        question = {"raw": answer.query, "reference": answer.gold}
        key = json.dumps(question, sort_keys=True, separators=(",", ":"))
        record = {
            "schema_version": SCHEMA_VERSION,
            "evaluation_id": self.id,
            "model_id": self.model,
            "evaluation_name": self.name,
            "evaluation_result_id": f"{self.id}#{measure.name}",
            "sample_id": answer.query_id,
            "sample_hash": hashlib.sha256(key.encode()).hexdigest(),
            "interaction_type": "single_turn",
            "input": question,
            "output": {"raw": [output]},
            "answer_attribution": [
                {
                    "turn_idx": 0,
                    "source": "output.raw",
                    "extracted_value": output,
                    "extraction_method": "citeforge",
                    "is_terminal": True,
                }
            ],
            "evaluation": {"score": value * measure.scale, "is_correct": is_best},
            "metadata": _to_texts(
                passages=json.dumps([p.id for p in answer.passages], ensure_ascii=False),
                runs=self.file.counts.n_runs,
                output="statements with citations",
            ),
        }
        if answer.is_missing:
            record["error"] = "no answer"
        return record


def _model_name(file: ScoreFile, options: RecordOptions, path: Path) -> str:
    """Get a model's Hub name from options or score file; raise an error unless ``ORG/NAME``."""
    model = options.model or (file.about.model if file.about is not None else None) or file.system
    if not re.fullmatch(r"[^/\s]+/[^/\s]+", model):
        raise UsageError(
            f"{path}: the model name {model!r} is not ORG/NAME, as on the Hub; give --model",
            code="bad-name",
        )
    return model


def _slug(name: str) -> str:
    """Make a portable folder name from any name."""
    slug = portable_name(re.sub(r"[^A-Za-z0-9._-]", "_", name).rstrip("."))
    return f"_{slug}" if slug.startswith(".") or not slug else slug


def _make_uncertainty(measure: MeasureScore) -> dict[str, Any]:
    """Make a score's fields for Every Eval Ever: sample size, standard error and interval."""
    record: dict[str, Any] = {"num_samples": measure.n}
    method = _METHODS.get(measure.interval)
    if measure.stderr is not None:
        record["standard_error"] = {"value": measure.stderr, "method": method or "analytic"}
    if measure.low is not None and measure.high is not None:
        record["confidence_interval"] = {
            "lower": measure.low,
            "upper": measure.high,
            "confidence_level": 0.95,
            "method": measure.interval,
        }
    return record


def _to_texts(**parameters: object) -> dict[str, str]:
    """Convert keyword arguments to texts by name; leave out None."""
    return {name: str(value) for name, value in parameters.items() if value is not None}


RECORDS = Export(
    "every-eval-ever",
    "Records of scores for evaleval's collection, Every Eval Ever.",
    export_every_eval,
    RecordOptions,
    of="scores",
)
