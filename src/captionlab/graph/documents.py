"""Facts of a run for model cards and for the table for reviewers."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from captionlab.config import walking
from captionlab.config.blocks import KINDS, Block, normalise, without
from captionlab.config.papers import listed
from captionlab.config.reach import named, reached
from captionlab.config.snapshots import training_of
from captionlab.graph.retrieving import below
from captionlab.graph.scores import Scores
from captionlab.plugins import facts, headline
from captionlab.sources.table import Source, hub_models, read_sources, serving

SECTIONS = ("captioners", "encoders", "scorers")
# The rule that trains a model, by section and kind of the model (KINDS has all kinds).
TRAINING = {
    "captioners": {
        "pretrained": "pretrain_captioner",
        "finetuned": "finetune_captioner",
        "finetuned-by-trl": "finetune_with_trl",
    },
    "encoders": {"trained": "train_encoder"},
    "scorers": {"trained": "pretrain_scorer"},
}
# Kinds of models with weights of their own, trained here or imported.
WEIGHTED = {*(way for ways in TRAINING.values() for way in ways), "imported", "folder"}
# Parts of a config that ask for jobs. A block that they do not name, directly or through other blocks, is not made.
ASKING = ("evaluations", "scene_analysis", "study", "language", "validity", "judgements", "papers")
# Keys of the block of a model that name what it reads or was trained with.
READS = ("encoder", "regions", "tags")
# The section of the model that a reward asks, by the key of the reward.
REWARDING = {"retriever": "encoders", "scorer": "scorers"}
# A model: its section and its name.
Model = tuple[str, str]


class Documents(Scores):
    """Facts of the models and corpora that the jobs of a config make.

    `trainings` has, by section and block with several seeds, the names of its trainings.
    """

    trainings: Mapping[str, Mapping[str, list[str]]]

    # -------------------------------------------------------------------------------------- what jobs make
    def _used(self, section: str) -> list[str]:
        """Return the names of the blocks of a section that jobs of the run use."""
        return sorted(name for of, name in self._reached if of == section)

    @cached_property
    def _reached(self) -> set[Model]:
        """Return all blocks that the parts ASKING of the config name, directly or through other blocks.

        Captioners and corpora of judged captions are left out.
        """
        asking = {key: self.config[key] for key in ASKING if key in self.config}
        return reached(self.config, named(asking, walking.root()))

    def _weighted_models(self) -> list[Model]:
        """Return the models with weights, trained in this run or imported."""
        return [(s, n) for s in SECTIONS for n in self._used(s) if self._way(s, n) in WEIGHTED]

    def _trained_models(self) -> list[Model]:
        """Return the models that this run trains."""
        return [
            (section, name)
            for section, name in self._weighted_models()
            if self._way(section, name) in TRAINING[section]
        ]

    def _way(self, section: str, name: str) -> str:
        # A snapshot comes about as its training does.
        return KINDS[section](without(self.config[section][name], "snapshot"))

    def _job(self, section: str, name: str) -> str:
        """Return the path of the job that trained a model below the folders of logs, measurements and provenance."""
        return f"{TRAINING[section][self._way(section, name)]}/{training_of(name)}"

    # --------------------------------------------------------------------------------------------- facts

    def described_models(self, trained: bool = False) -> list[Block]:
        """Return the facts of each model that has weights, or only of models that this run trains."""
        return [self._described[model] for model in (self._trained_models() if trained else self._described)]

    @cached_property
    def _described(self) -> dict[Model, Block]:
        return {model: self._description(*model) for model in self._weighted_models()}

    def _description(self, section: str, name: str) -> Block:
        """Return the facts of a model: ancestors, encoders or regions that it reads, rewards, papers and sources."""
        line = self._line(section, name)
        blocks = [self.config[section][one] for one in line]
        family = str(blocks[-1]["family"])
        ways = [self._way(section, one) for one in line]
        trained = ways[0] in TRAINING[section]
        return normalise(
            {
                "section": section,
                "name": name,
                "family": family,
                "headline": headline(section, family),
                "reads": "pixels" if section == "encoders" else facts(section)[family].reads,
                "job": self._job(section, name) if trained else None,
                "line": [
                    {"name": one, "way": way, "corpus": block.get("corpus") if way in TRAINING[section] else None}
                    for one, way, block in zip(line, ways, blocks, strict=True)
                ],
                "names": {key: block[key] for block in reversed(blocks) for key in READS if key in block},
                "rewards": self._rewards(section, line),
                "select": bool(blocks[0].get("validation", {}).get("select", False)),
                "snapshot_of": training_of(name) if "snapshot" in blocks[0] else None,
                "trainings": next((names for names in self.trainings[section].values() if name in names), []),
                "papers": self._papers(section, name),
                "sources": [source for one in line for source in self._sources(section, one)],
            }
        )

    def described_corpora(self) -> Block:
        """Return the reader, the split and the sources of each corpus, and whether it is of the toy world."""
        return {
            name: {
                "reader": block["reader"],
                "toy": block["reader"] == "toyworld",
                "split": block["evaluation_split"],
                "hub": block.get("repository"),
                "sources": self._sources("corpora", name),
            }
            for name, block in ((name, self.config["corpora"][name]) for name in self._used("corpora"))
        }

    def _line(self, section: str, name: str) -> list[str]:
        """Return a model and its ancestors, the oldest last."""
        line = [name]
        while parent := self.config[section][line[-1]].get("parent"):
            line.append(parent)
        return line

    def _rewards(self, section: str, line: Iterable[str]) -> list[Model]:
        """Return the models that rewarded a captioner or one of its ancestors."""
        rewards = [reward for one in line for reward in self.rewards(one)] if section == "captioners" else []
        asked = [(of, reward[key]) for reward in rewards for key, of in REWARDING.items() if key in reward]
        return [*dict.fromkeys(asked)]

    def _papers(self, section: str, name: str) -> dict[str, list[str]]:
        """Return the labels of a model in each paper whose block names the model; a list may be empty."""
        found = {}
        for paper, block in self.config["papers"].items():
            if (section, name) in self._of_papers[paper]:
                labels: Mapping[str, Any] = block.get(section, {}) if section != "encoders" else {}
                found[paper] = sorted(label for label, names in labels.items() if name in listed(names))
        return found

    @cached_property
    def _of_papers(self) -> dict[str, set[Model]]:
        """Return the blocks that the block of each paper names."""
        part = walking.section("papers").of({})
        blocks = self.config["papers"]
        return {paper: {*named(block, part.under(paper))} for paper, block in blocks.items()}

    @cached_property
    def _table(self) -> list[Source]:
        return read_sources()

    def _sources(self, section: str, name: str) -> list[Block]:
        """Return the known sources of the files of a block: content, licence and repository.

        A model has the repository of its weights only, not the repository of a tokenizer.
        """
        block, data = self.config[section][name], Path(self.settings.data)
        named = walking.named_paths(walking.section(section).under(name), block)
        weights = [below(path, data) for path in listed(block.get("weights", []))]
        bases = {source.name for source in (*serving(self._table, weights), *hub_models(weights))}
        places = [below(path, data) for path in named]
        return [
            {
                "what": source.what,
                "licence": source.licence,
                "repository": source.repository if section == "corpora" or source.name in bases else None,
            }
            for source in (*serving(self._table, places), *hub_models(places))
        ]
