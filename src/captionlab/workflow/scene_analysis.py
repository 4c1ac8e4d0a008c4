"""Tags, and the analysis of scenes that a config declares: what their jobs read, and what these depend on.

A rule names a method of `SceneAnalysis` as its input function or parameter. All is empty without that section.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from snakemake.io import local

from captionlab import paths
from captionlab.roles import ROLES
from captionlab.workflow.blocks import Block, any_of, normalise
from captionlab.workflow.families import modules

if TYPE_CHECKING:
    from captionlab.workflow.experiments import Experiments

# What a part of the block is where the config says nothing: Cafagna et al. 2022, §5 to §7 and appendices C and D, or,
# where the paper is silent, docs/fidelity.md.
DEFAULTS: dict[str, Block] = {
    "labels": {"number": 8, "min_captions": 1, "table": "scene_captions"},
    "attention": {"images": 100, "layer": 1, "examples": 2},
    "density": {"steps": 100},
    "ranking": {"depths": [3, 5, 7], "frequent": "other-splits", "mean": False},
    "pmi": {"min_count": 5, "smoothing": "none"},
    "matching": {"overlap": 0.6, "inside": 0.8},
    "ablation": {"objects": [1, 2, 3], "mask": "kept"},
    "probes": {
        "scenes": 8,
        "selection": "diagnostic-objects",
        "images": 1426,
        "objects": 3,
        "test_shares": [0.1, 0.3, 0.5],
        "seeds": 5,
    },
}


class Wildcards(Protocol):
    """The wildcards of a job that the methods below may ask for."""

    corpus: str
    captioner: str
    tags: str


class SceneAnalysis:
    """The tags of a config and its analysis of scenes."""

    roles = ROLES

    def __init__(self, lab: "Experiments"):
        self.lab = lab
        self.tags: Block = lab.config.get("tags", {})
        self.config: Block = lab.config.get("scene_analysis", {})

    def missing_files(self) -> list[str]:
        """A sentence for each file of tags that the config names and that is not there."""
        named = [
            (f"tags.{name}.files.{corpus}", path)
            for name, block in self.tags.items()
            for corpus in block.get("files", {})
            for path in self._paths(name, corpus)
        ]
        return [f"{key}: no such file {path}" for key, path in named if not Path(path).is_file()]

    # ------------------------------------------------------------------------------------------------ tags
    def tags_block(self, wildcards: Wildcards) -> Block:
        """What the tags of a corpus depend on, files and regions by name aside."""
        return {"source": self.tags[wildcards.tags]["source"]}

    def tags_files(self, wildcards: Wildcards) -> list[str]:
        """Files that the tags of a corpus are read from."""
        return [local(path) for path in self._paths(wildcards.tags, wildcards.corpus)]

    def tags_regions(self, wildcards: Wildcards) -> list[str]:
        """Tables of the regions whose labels are the tags."""
        regions = self.tags[wildcards.tags].get("regions")
        return self.lab.scoring.regions_tables(regions, wildcards.corpus) if regions else []

    def tags_objects(self, wildcards: Wildcards) -> list[str]:
        """The table of annotated objects, where these are the tags."""
        annotated = self.tags[wildcards.tags]["source"] == "objects"
        return [paths.corpus("objects", wildcards.corpus)] if annotated else []

    def captioner_tables(self, block: Block, corpus: str) -> list[str]:
        """Tables of a corpus that a captioner of regions, whose block this is, reads: its regions, perhaps its tags."""
        tags = [paths.tags(block["tags"], corpus)] if "tags" in block else []
        return [*self.lab.scoring.regions_tables(block["regions"], corpus), *tags]

    # ---------------------------------------------------------------------------------------- the analysis
    def part(self, name: str, *keys: str) -> Block:
        """A part of the block with its defaults, or some keys of it; nothing where there is no analysis."""
        whole = {**DEFAULTS[name], **self.config.get(name, {})} if self.config else {}
        return normalise({key: value for key, value in whole.items() if not keys or key in keys})

    def min_captions(self) -> Block:
        """How many captions of an image must name a scene for the image to depict it."""
        return self.part("labels", "min_captions")

    def corpus(self) -> str | None:
        """The corpus whose images and scene captions are analysed."""
        return self.config.get("corpus")

    def split(self) -> str | None:
        """Its split whose attention is analysed."""
        return self.lab.evaluation_split(self.config["corpus"]) if self.config else None

    def splits(self) -> list[str]:
        """Its splits whose images are ablated and probed."""
        return list(self.config.get("splits", [self.split()])) if self.config else []

    def decoding(self) -> Block:
        """The decoding of captions, spelled out."""
        return normalise(self.lab.config["decodings"][self.config["decoding"]]) if self.config else {}

    def seed(self) -> int:
        """Seed of all that is drawn."""
        return int(self.config["seed"] if "seed" in self.config else self.lab.config["seed"])

    def captioners(self) -> str:
        """Regular expression of the captioners that are analysed."""
        return any_of(self.config[role] for role in ROLES if role in self.config)

    def table(self, table: str) -> list[str]:
        """A table of the corpus."""
        return [paths.corpus(table, self.config["corpus"])] if self.config else []

    def labelling(self) -> list[str]:
        """The table of the corpus whose captions say which scene an image depicts."""
        return self.table(self.part("labels")["table"]) if self.config else []

    def features(self, wildcards: Wildcards) -> list[str]:
        """Tables of regions and tags of the corpus that a captioner reads."""
        return self.lab.captioner_tables(wildcards.captioner, self.config["corpus"])

    def shared_features(self) -> list[str]:
        """The same of the pretrained captioner, which are also the finetuned one's."""
        return self.lab.captioner_tables(self.config["pretrained"], self.config["corpus"]) if self.config else []

    def tags_table(self) -> list[str]:
        """The table of tags among these."""
        return self.shared_features()[-1:]

    def model(self, role: str = "pretrained") -> list[str]:
        """The files of a captioner in a role."""
        files = ("config.json", "model.safetensors", "tokenizer.json")
        return [paths.captioner(file, self.config[role]) for file in files] if self.config else []

    def of(self, role: str, stage: str, table: str) -> list[str]:
        """A table of a stage about the captioner in a role."""
        return [paths.of_captioner(stage, table, self.config[role])] if self.config else []

    def results(self) -> list[str]:
        """The tables at the end of the analysis."""
        if not self.config:
            return []
        names = ["densities", "differences", "rankings", "overlaps", "correlations"]
        return [
            *(paths.attention(name) for name in names),
            *(paths.ablation(name) for name in ("coverage", "effects", "splits")),
            *(path for role in ROLES for path in self.of(role, "probes", "scores")),
        ]

    def role(self, wildcards: Wildcards) -> str:
        """Whether a captioner is the pretrained or the finetuned one."""
        return next(role for role in ROLES if self.config[role] == wildcards.captioner)

    def code(self, script: str) -> Callable[[Any], str]:
        """Fingerprint of a script that loads the family of these captioners by name."""
        families = {self.lab.family(self.config[role]) for role in ROLES} if self.config else set()
        return lambda wildcards: self.lab.code(script, *modules("captioners", families))

    def _paths(self, tags: str, corpus: str) -> list[str]:
        given = self.tags[tags].get("files", {}).get(corpus, [])
        return [str(Path(self.lab.data) / path) for path in ([given] if isinstance(given, str) else given)]
