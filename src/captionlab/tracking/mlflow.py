"""Training in MLflow: curves, cards of images, and tables of captions.

MLFLOW_TRACKING_URI names the server, and MLFLOW_EXPERIMENT_NAME the experiment. Without a server, trainings are in a
database beside the folders of the other trackers, which needs the whole package `mlflow`.
"""

import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from filelock import FileLock
from mlflow import MlflowClient
from mlflow.entities import Metric, Param, RunStatus
from mlflow.exceptions import MlflowException
from mlflow.tracking import is_tracking_uri_set
from mlflow.utils.mlflow_tags import MLFLOW_RUN_NAME

from captionlab.storage.paths import TRACKING
from captionlab.tracking.examples import table
from captionlab.tracking.pictures import Pictures
from captionlab.tracking.updates import TrackedTraining, Update

SECONDS = 10  # between transfers of curves
BATCH = 100  # of curves or parameters in a request, which MLflow limits
LONGEST = 6000  # characters of a parameter, which MLflow limits
ID, RULE = "captionlab.training", "captionlab.rule"  # tags of a run


class Board:
    """Run of MLflow."""

    def __init__(self, run: TrackedTraining):
        """Start a run, or continue it if the training was shown before."""
        self.client, experiment = connected()
        tag = f"tags.`{ID}` = '{run.id}'"
        if runs := self.client.search_runs([experiment], tag, max_results=1):
            self.id = runs[0].info.run_id
            self.client.update_run(self.id, RunStatus.to_string(RunStatus.RUNNING))
        else:
            tags = {ID: run.id, RULE: run.rule, MLFLOW_RUN_NAME: run.name}
            self.id = self.client.create_run(experiment, tags=tags, run_name=run.name).info.run_id
            parameters = [Param(name, value[:LONGEST]) for name, value in flat(run.config)]
            for first in range(0, len(parameters), BATCH):
                self.client.log_batch(self.id, params=parameters[first : first + BATCH])
        curves = [self.client.get_metric_history(self.id, name) for name in runs[0].data.metrics] if runs else []
        self.done = max((point.step for curve in curves for point in curve), default=-1)
        self.pictures = Pictures(run.images)
        self.waiting: list[Metric] = []
        self.sent = time.monotonic()

    def add(self, update: Update) -> None:
        """Add an update, unless the run has it."""
        if update.step <= self.done:
            return
        now = int(time.time() * 1000)
        self.waiting += [Metric(name, value, now, update.step) for name, value in update.scalars().items()]
        if update.examples:
            self.client.log_text(self.id, table(update.examples), f"captions/{update.step:09d}.md")
            for image_id, picture in self.pictures.cards(update.examples):
                key = f"captions/{re.sub(r'[^a-zA-Z0-9_./ -]', '_', image_id)}"
                self.client.log_image(self.id, picture, key=key, step=update.step)
        if time.monotonic() - self.sent >= SECONDS:
            self._send()

    def close(self, completed: bool) -> None:
        """Send pending data and end the run."""
        self._send()
        self.client.set_terminated(self.id, RunStatus.to_string(RunStatus.FINISHED if completed else RunStatus.KILLED))

    def _send(self) -> None:
        for first in range(0, len(self.waiting), BATCH):
            self.client.log_batch(self.id, metrics=self.waiting[first : first + BATCH])
        self.waiting, self.sent = [], time.monotonic()


def connected() -> tuple[MlflowClient, str]:
    """Return a client and the id of the experiment, which is made if it is not there.

    Raises RuntimeError if no server is named and the package `mlflow-skinny` is installed, which has no database.
    """
    name = os.environ.get("MLFLOW_EXPERIMENT_NAME", "captionlab")
    if is_tracking_uri_set():
        return (client := MlflowClient()), _experiment(client, name)
    if not find_spec("alembic"):
        raise RuntimeError("MLFLOW_TRACKING_URI names no server; a database of your own needs pip install mlflow")
    folder = Path(TRACKING).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "mlflow.lock"):  # trainings that start at the same time would both make the tables
        client = MlflowClient(f"sqlite:///{folder / 'mlflow.db'}")
        return client, _experiment(client, name, (folder / "mlflow").as_uri())


def _experiment(client: MlflowClient, name: str, artifacts: str | None = None) -> str:
    try:
        return str(client.create_experiment(name, artifacts))
    except MlflowException:
        if experiment := client.get_experiment_by_name(name):
            return str(experiment.experiment_id)
        raise


def flat(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the keys of a block with their values; keys of inner blocks are joined by dots."""
    for name, value in config.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value if isinstance(value, str) else json.dumps(value)
