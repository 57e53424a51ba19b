"""MLflow, Weights & Biases and trackio; each function imports its client and logs one run.

Projects are named after benchmarks; a client's own variable (``MLFLOW_EXPERIMENT_NAME``,
``WANDB_PROJECT``) goes before that.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from citeforge.schemas.catalogue import Choice
from citeforge.schemas.errors import require

if TYPE_CHECKING:
    from citeforge.publishing.tracking import TrackedRun

T = TypeVar("T")
_MOST_SETTINGS, _MOST_VALUES = 100, 1000
"""Parameters and metrics that an MLflow server takes in one request."""


def log_mlflow(run: TrackedRun) -> str:
    """Log scores as a run to MLflow (``MLFLOW_TRACKING_URI``); return where it is.

    Raises:
        MissingExtraError: it is a database, and the client for it is not installed.
    """
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # read by the import
    import mlflow
    from mlflow.entities import Metric, Param
    from mlflow.store.db.db_types import DATABASE_ENGINES

    if mlflow.get_tracking_uri().startswith(tuple(DATABASE_ENGINES)):
        require("sqlalchemy")  # mlflow-skinny goes without it, and calls the address unsupported
    client = mlflow.MlflowClient()
    project = os.environ.get("MLFLOW_EXPERIMENT_NAME") or run.project
    known = client.get_experiment_by_name(project)
    experiment = client.create_experiment(project) if known is None else known.experiment_id
    started = client.create_run(experiment, run_name=run.name).info
    status = "FAILED"
    try:
        for settings in _split(run.settings, _MOST_SETTINGS):
            client.log_batch(started.run_id, params=[Param(*pair) for pair in settings])
        at = int(time.time() * 1000)
        for values in _split(run.values, _MOST_VALUES):
            metrics = [Metric(name, value, at, 0) for name, value in values]
            client.log_batch(started.run_id, metrics=metrics)
        for path in run.files:
            client.log_artifact(started.run_id, str(path))
        status = "FINISHED"
    finally:
        client.set_terminated(started.run_id, status)
    return f"run {started.run_id} of {project} at {mlflow.get_tracking_uri()}"


def _split(pairs: dict[str, T], size: int) -> Iterator[list[tuple[str, T]]]:
    """Yield a mapping's (key, value) pairs in lists of at most ``size``."""
    items = iter(pairs.items())
    while part := list(islice(items, size)):
        yield part


def log_wandb(run: TrackedRun) -> str:
    """Log scores as a run to Weights & Biases (or its offline folder); return where it is."""
    import wandb

    project = os.environ.get("WANDB_PROJECT") or run.project
    settings = wandb.Settings(silent=True, console="off", reinit="create_new")
    with wandb.init(
        project=project, name=run.name, config=run.settings, job_type="score", settings=settings
    ) as started:
        started.summary.update(run.values)
        artifact = wandb.Artifact(f"scores-{started.id}", type="scores")
        for path in run.files:
            artifact.add_file(str(path))
        started.log_artifact(artifact)
        place = f"folder {Path(started.dir).parent}" if started.offline else started.url
    return f"run {started.id} of {project}: {place}"


def log_trackio(run: TrackedRun) -> str:
    """Log scores as a run to trackio (``TRACKIO_SPACE_ID``); return how to show it.

    Raises:
        ConnectionError: trackio warned that something did not reach its place.
    """
    # It prints how to open its dashboard, as the result of this function says.
    with warnings.catch_warnings(record=True) as warned, redirect_stdout(StringIO()):
        warnings.simplefilter("always")
        import trackio

        started = trackio.init(
            run.project, run.name, config=run.settings, embed=False, auto_log_gpu=False,
            auto_log_cpu=False,
        )  # fmt: skip
        started.log(run.values)
        artifact = trackio.Artifact(f"scores-{started.id}", type="scores")
        for path in run.files:
            artifact.add_file(str(path))
        started.log_artifact(artifact)
        trackio.finish()
    # Its client raises nothing: what fails is a warning.
    problems = [str(w.message) for w in warned if str(w.message).startswith("trackio.")]
    if problems:
        raise ConnectionError("; ".join(problems))
    return f"run {run.name} of {run.project}: trackio show --project {run.project!r}"


MLFLOW = Choice(
    "mlflow", "", "MLflow, at MLFLOW_TRACKING_URI", log_mlflow, needs="mlflow"
)  # fmt: skip
WANDB = Choice("wandb", "", "Weights & Biases; offline too", log_wandb, needs="wandb")
TRACKIO = Choice("trackio", "", "trackio, local or in a Space", log_trackio, needs="trackio")
