"""Metrics that are commands, as jobs: what each reads, and what it depends on."""

import shlex
from collections.abc import Iterator
from pathlib import Path

from captionlab import paths
from captionlab.workflow.basis import Basis, Wildcards
from captionlab.workflow.blocks import Block, has_captions

# The section of a config, and key of an evaluation; the module of captionlab.evaluation.metrics with their results.
SECTION, COMMAND = "metrics", "command"
# How the names of scripts end.
SCRIPTS = (".py", ".sh", ".R", ".pl", ".jl")


class Commands:
    """The section `metrics` of a config."""

    def __init__(self, basis: Basis):
        self.basis = basis
        self.metrics: Block = basis.config[SECTION]

    def words(self, wildcards: Wildcards) -> list[str]:
        """The words of a command that are files below the folder of data, or by their absolute paths."""
        words = shlex.split(self.metrics[wildcards.metric]["command"])
        return list(dict.fromkeys(word for word in words if (Path(self.basis.data) / word).is_file()))

    def files(self, wildcards: Wildcards) -> list[str]:
        """These files."""
        return [self.basis.given(word) for word in self.words(wildcards)]

    def environment(self, wildcards: Wildcards) -> list[str]:
        """The file that says what the environment of a command is; none for that of this workflow."""
        return [self.basis.given(path) for _, path in self._environment(wildcards.metric)]

    def environments(self) -> Iterator[tuple[str, str]]:
        """The files of all environments, each by its key in the config."""
        for name in self.metrics:
            yield from self._environment(name)

    def scripts(self) -> Iterator[tuple[str, str]]:
        """Words of all commands that must be files below the folder of data, each by its key in the config.

        No program that is found on PATH is among them, nor what has an absolute path, as in a container.
        """
        for name, block in self.metrics.items():
            program, *words = shlex.split(block["command"])
            for word in [program, *words] if "/" in program else words:
                if word.endswith(SCRIPTS) and not word.startswith(("/", "-")):
                    yield f"{SECTION}.{name}.command", word

    def settings(self, wildcards: Wildcards) -> Block:
        """What the scores of a metric depend on beside files."""
        block = self.metrics[wildcards.metric]
        return {key: block[key] for key in ("command", "version", "references")}

    def references(self, wildcards: Wildcards) -> list[str]:
        """The captions of each corpus of an evaluation; none for a metric that reads no references."""
        corpora = self.basis.evaluations[wildcards.evaluation]["corpora"]
        return [paths.corpus("captions", c) for c in corpora if self.metrics[wildcards.metric]["references"]]

    def scored(self) -> list[str]:
        """A table of scores for each metric, evaluation and captioner that has it."""
        return [
            paths.evaluation(f"{COMMAND}-{metric}", captioner, name)
            for name, evaluation in sorted(self.basis.evaluations.items())
            for metric in sorted(evaluation[SECTION])
            if not self.metrics[metric]["references"] or self._referenced(evaluation)
            for captioner in self.basis.scored_captioners(name, self.metrics[metric]["references"])
        ]

    def _referenced(self, evaluation: Block) -> bool:
        """Whether images of an evaluation have captions to hold others against."""
        return any(has_captions(self.basis.corpora[corpus]) for corpus in evaluation["corpora"])

    def factors(self) -> dict[str, float]:
        """What each metric is printed times, by its place in the config."""
        return {f"{SECTION}.{name}": float(block["scale"]) for name, block in self.metrics.items()}

    def _environment(self, name: str) -> Iterator[tuple[str, str]]:
        """The key of a metric that names an environment, and the file that says what it is."""
        block = self.metrics[name]
        if "conda" in block:
            yield f"{SECTION}.{name}.conda", block["conda"]
        if "venv" in block:
            yield f"{SECTION}.{name}.venv", f"{block['venv']}/pyvenv.cfg"
