"""Trainings of captioners: parameters, rewards and learned corpora."""

import json
from pathlib import Path

from captionlab import plugins
from captionlab.config.blocks import (
    JUDGED,
    TRAINING_DECODINGS,
    Block,
    line_of,
    located,
    model_kind,
    normalise,
    without,
)
from captionlab.config.families import captioners
from captionlab.config.snapshots import training_of
from captionlab.graph.models import Models
from captionlab.storage import paths

# Keys of a captioner that are left out, because inputs or other parameters of the job change with them.
_READ = ("corpus", "parent", "seed", "encoder", "regions", "tags", "run", "config", "accelerate")
# Keys of a reward that name the model or the questions that it asks.
_ASKED = ("retriever", "scorer", "questions")
# The split that captioners learn.
TRAINING = "train"
# The table of a scorer that says how good it is.
MATCHING = "matching.parquet"


class Trainings(Models):
    """The trainings of a config."""

    def training(self, captioner: str) -> Block:
        """Return the parameters of the training or import of a captioner, with the blocks of its decodings."""
        captioner_block = self.config["captioners"][captioner]
        block = without(captioner_block, *_READ)
        for part, key in TRAINING_DECODINGS:
            if key in block.get(part, {}):
                block[part] = {**block[part], key: self.block("decodings", block[part][key])}
        # For a captioner of another run, config.json beside its weights says what it reads.
        published = "weights" in captioner_block and "run" not in captioner_block
        if published and captioners()[captioner_block["family"]].reads == "patches-or-pixels":
            block["reads"] = "table" if "encoder" in captioner_block else "pixels"
        return dict(normalise(block))

    def lineage(self) -> Block:
        """Return the parent, family, rewarding retriever and corpora of each captioner and its ancestors."""
        found: Block = {}
        for name, block in sorted(self.config["captioners"].items()):
            if block.get("family") == JUDGED:
                continue
            line = [self.config["captioners"][ancestor] for ancestor in line_of(self.config, name)]
            found[name] = {
                "parent": block.get("parent"),
                "corpora": [ancestor["corpus"] for ancestor in line if "corpus" in ancestor],
                "family": line[-1]["family"],
                "retriever": block.get("objective", {}).get("reward", {}).get("retriever"),
            }
        return found

    def rewarded_trainings(self) -> dict[str, dict[str, str]]:
        """Return the parent, the corpus and the reward in words of each captioner that is finetuned by a reward.

        Captioners of evaluations and their ancestors count, if the config asks for validity.
        """
        evaluations = self.config["evaluations"].items() if self.settings.validity else ()
        trainings = {
            training_of(ancestor)
            for evaluation, block in evaluations
            if evaluation not in self.config["judgements"]
            for captioner in block["captioners"]
            for ancestor in line_of(self.config, captioner)
        }
        return {name: self._rewarded(name) for name in sorted(trainings) if self.rewards(name)}

    def _rewarded(self, name: str) -> dict[str, str]:
        parts = [reward for reward in self.rewards(name) if "of" not in reward]
        words = [" ".join([one["kind"], *(one[key] for key in _ASKED if key in one)]) for one in parts]
        block = self.config["captioners"][name]
        return {"parent": block["parent"], "corpus": block["corpus"], "reward": ", ".join(words)}

    def learned_by(self) -> dict[str, str]:
        """Return the corpus of each captioner that learned the references of a corpus, here or in another run.

        A corpus is left out if its evaluated images are training images.
        """
        return {
            name: block["corpus"]
            for name, block in sorted(self.config["captioners"].items())
            if (_of_references(block.get("objective", {}).get("kind")) or self._learned_elsewhere(block))
            and self.settings.corpora[block["corpus"]].evaluation_split != TRAINING
        }

    def _learned_elsewhere(self, captioner: Block) -> bool:
        """Return whether a captioner of another run learned references there, of the corpus that the config names.

        A training by a reward does not count. Weights that were imported there count: their training is not known.
        """
        if "run" not in captioner or "corpus" not in captioner:
            return False
        file = located(captioner["config"], Path(self.settings.data), self.root)
        origin = json.loads(file.read_text(encoding="utf-8")).get("origin", {})
        kind = origin.get("config", {}).get("objective", {}).get("kind")
        return kind is None or _of_references(kind)

    def examined_scorers(self) -> dict[str, str]:
        """Return the table that says how good each scorer is, if there is one.

        Scorers that are trained here have such a table, and scorers of another run if it lies beside their weights.
        """
        found = {}
        for name, block in sorted(self.config["scorers"].items()):
            if model_kind(block) == "trained":
                found[name] = paths.scorer(MATCHING, name)
            elif "run" in block and self._located(f"{block['run']}/{MATCHING}").is_file():
                found[name] = self.given(f"{block['run']}/{MATCHING}")
        return found

    def _located(self, path: str) -> Path:
        return located(path, Path(self.settings.data), self.root)


def _of_references(kind: str | None) -> bool:
    """Return whether references are learnt by an objective of this kind."""
    facts = plugins.facts("training.objectives").get(kind or "")
    return facts is not None and facts.of_references
