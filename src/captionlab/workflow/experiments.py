"""The config as a graph: what each job reads, and the smallest part of the config that it depends on.

A rule names a method of `Experiments` as its input function or parameter; Snakemake calls it with the wildcards.
"""

import importlib.metadata
import importlib.util
import os
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from captionlab import paths
from captionlab.shards import shard_names
from captionlab.workflow import families
from captionlab.workflow.blocks import Block, any_of, captioner_kind, normalise, plain_rewards, root_of, without
from captionlab.workflow.code import code_fingerprint
from captionlab.workflow.config import ConfigError, checked
from captionlab.workflow.construction import Construction
from captionlab.workflow.embedding import Embedding
from captionlab.workflow.language import Language
from captionlab.workflow.papers import Papers
from captionlab.workflow.report import labels_of, paper_of
from captionlab.workflow.resources import memory, on_disk
from captionlab.workflow.reward_models import RewardModels
from captionlab.workflow.scene_analysis import SceneAnalysis
from captionlab.workflow.scoring import Scoring
from captionlab.workflow.study import Study
from captionlab.workflow.validity import Validity

GENERAL_FORMATS = ("csv", "md", "html")


class Wildcards(Protocol):
    """The wildcards of a job that the methods below may ask for."""

    corpus: str
    encoder: str
    captioner: str
    evaluation: str
    shard: str


class Experiments:
    """The experiments that a config declares; `root` is the folder of the Snakefile."""

    def __init__(self, config: Block, root: Path | str):
        self.root = Path(root)
        self.config = config = checked(config, self.root / "workflow" / "schemas" / "config.schema.yaml")
        self.corpora: Block = config["corpora"]
        self.encoders: Block = config.get("encoders", {})
        self.captioners: Block = config["captioners"]
        self.evaluations: Block = config["evaluations"]
        self.spice: str = config.get("spice", "auto") or "off"
        self.embedding = Embedding(self)
        self.language = Language(self)
        self.construction = Construction(self)
        self.study = Study(self)
        self.reward_models = RewardModels(self)
        self.style = on_disk(self.root / "config" / "plotting.yaml")
        self.data = str((self.root / config.get("data", ".")).resolve())
        self.scoring = Scoring(self)
        self.scene_analysis = SceneAnalysis(self)
        self.validity = Validity(self)
        self.papers = Papers(self)

    def check_files(self) -> None:
        """Raise a ConfigError that lists every file or folder that the config names and that is not there."""
        from captionlab.corpora.inputs import CorpusError, check_inputs

        mistakes = []
        for name, corpus in self.corpora.items():
            if corpus["reader"] != "toyworld":
                try:
                    check_inputs(corpus, Path(self.data), name)
                except CorpusError as mistake:
                    mistakes.append(str(mistake))
        files: dict[str, str] = {}
        for name, block in self.captioners.items():
            files |= {f"captioners.{name}.{key}": block[key] for key in ("weights", "tokenizer") if key in block}
            files |= {f"captioners.{name}.captions.{c}": path for c, path in block.get("captions", {}).items()}
        missing = {key: Path(self.data) / path for key, path in files.items() if not (Path(self.data) / path).is_file()}
        mistakes += [f"{key}: no such file {path}" for key, path in missing.items()]
        for part in (self.embedding, self.language, self.study, self.scoring, self.scene_analysis):
            mistakes += part.missing_files()
        if mistakes:
            raise ConfigError.listing(
                f"files are missing below {self.data} (docs/data.md says where they come from)", mistakes
            )

    memory = staticmethod(memory)
    paper_of, labels_of = staticmethod(paper_of), staticmethod(labels_of)

    def lend_library(self) -> None:
        """Let scripts import the library of this checkout, also in an environment that Snakemake made."""
        others = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        library = str(self.root / "src")
        os.environ["PYTHONPATH"] = os.pathsep.join([library, *(path for path in others if path not in ("", library))])

    # ---------------------------------------------------------------------------------------- fingerprints
    def code(self, script: str, *also: str) -> str:
        """Fingerprint of a script and all that it reaches, and of modules that it loads by name."""
        return code_fingerprint(self.root, script, *also)

    def versions(self, *libraries: str) -> dict[str, str]:
        """Installed versions of the libraries whose numerics matter to a rule."""
        return {name: _version(name) for name in sorted(libraries)}

    def family_code(self, script: str) -> Callable[[Wildcards], str]:
        """The same for a script that loads the captioner's family by name."""
        return lambda wildcards: self.code(script, *self.family_modules(wildcards.captioner))

    def family_modules(self, captioner: str) -> list[str]:
        """The module that a captioner's family is loaded from by name."""
        return families.modules("captioners", [self.family(captioner)])

    def family_versions(self, *libraries: str) -> Callable[[Wildcards], dict[str, str]]:
        """Versions of these libraries and of those that the captioner's family computes with."""
        return lambda wildcards: self.versions(*libraries, *self.family_libraries(wildcards.captioner))

    def family_libraries(self, captioner: str) -> set[str]:
        """Libraries whose versions matter to what a captioner computes, whatever it is made for."""
        return {"torch", "tokenizers", *families.captioners()[self.family(captioner)].libraries}

    # --------------------------------------------------------------------------------------- names by kind
    def corpora_read_by(self, toyworld: bool) -> str:
        """Regular expression of the corpora that the toy world renders, or of all others."""
        return any_of(n for n, c in self.corpora.items() if (c["reader"] == "toyworld") == toyworld)

    def captioners_of(self, *kinds: str) -> str:
        """Regular expression of the captioners that come about in one of these ways."""
        return any_of(n for n, c in self.captioners.items() if captioner_kind(c) in kinds)

    def family(self, captioner: str) -> str:
        """Family of a captioner, its own or its ancestor's."""
        return str(self.captioners[root_of(self.config, captioner)]["family"])

    def captioner_tables(self, captioner: str, corpus: str) -> list[str]:
        """Tables of a corpus that a captioner reads: embeddings by its encoder, or regions and tags."""
        block = self.captioners[root_of(self.config, captioner)]
        if "encoder" in block:
            return self.embedding.features(block["encoder"], corpus)
        return self.scene_analysis.captioner_tables(block, corpus)

    # --------------------------------------------------------------------------------------------- corpora
    def corpus_block(self, wildcards: Wildcards) -> Block:
        """What the reader of a corpus depends on."""
        return normalise(without(self.corpora[wildcards.corpus], "evaluation_split", "shards"))

    def annotation_files(self, wildcards: Wildcards) -> list[str]:
        """Files that a reader needs before it starts; the images are not among them, a broken one is a reject."""
        from captionlab.corpora.inputs import input_files

        return [on_disk(path) for path in input_files(self.corpora[wildcards.corpus], Path(self.data))]

    def evaluation_split(self, corpus: str) -> str:
        """Split of a corpus that evaluations use."""
        return str(self.corpora[corpus].get("evaluation_split", "test"))

    def evaluation_split_of(self, wildcards: Wildcards) -> str:
        """The same, for a rule with the wildcard corpus."""
        return self.evaluation_split(wildcards.corpus)

    # ------------------------------------------------------------------------------------------ captioners
    def captioner_block(self, wildcards: Wildcards) -> Block:
        """What the training or import of a captioner depends on, with the decodings that it names spelled out."""
        block = without(self.captioners[wildcards.captioner], "corpus", "parent", "seed", "encoder", "regions", "tags")
        for part in ("objective", "validation"):
            if "decoding" in block.get(part, {}):
                block[part] = {**block[part], "decoding": self.config["decodings"][block[part]["decoding"]]}
        return normalise(block)

    def captioner_seed(self, wildcards: Wildcards) -> int:
        """Seed of a captioner's training."""
        return int(self.captioners[wildcards.captioner].get("seed", self.config["seed"]))

    def rewards(self, captioner: str) -> list[Mapping[str, Any]]:
        """The rewards that a captioner's reward is made of, none where it has none."""
        objective = self.captioners[captioner].get("objective", {})
        return [reward for _, reward in plain_rewards(objective["reward"])] if "reward" in objective else []

    def training_table(self, table: str) -> Callable[[Wildcards], str]:
        """A table of the corpus that a captioner is trained on."""
        return lambda wildcards: _corpus_table(self.captioners[wildcards.captioner]["corpus"], table)

    def training_features(self, wildcards: Wildcards) -> list[str]:
        """What a captioner reads of the corpus that it is trained on."""
        return self.captioner_tables(wildcards.captioner, self.captioners[wildcards.captioner]["corpus"])

    def parent(self, file: str) -> Callable[[Wildcards], str]:
        """A file of the captioner that this one is finetuned from."""
        return lambda wildcards: paths.captioner(file, self.captioners[wildcards.captioner]["parent"])

    def captioner_files(self, wildcards: Wildcards) -> list[str]:
        """Files that a captioner is imported from: weights and tokenizer."""
        captioner = self.captioners[wildcards.captioner]
        return [on_disk(Path(self.data) / captioner[key]) for key in ("weights", "tokenizer")]

    # ----------------------------------------------------------------------------------------- evaluations
    def evaluated_corpora(self, wildcards: Wildcards) -> list[str]:
        """Corpora of an evaluation, in the order of the config."""
        return list(self.evaluations[wildcards.evaluation]["corpora"])

    def evaluated_splits(self, wildcards: Wildcards) -> list[str]:
        """The split of each of these corpora."""
        return [self.evaluation_split(corpus) for corpus in self.evaluated_corpora(wildcards)]

    def evaluated_tables(self, table: str) -> Callable[[Wildcards], list[str]]:
        """A table of each corpus of an evaluation."""
        return lambda wildcards: [_corpus_table(corpus, table) for corpus in self.evaluated_corpora(wildcards)]

    def described(self, wildcards: Wildcards) -> list[str]:
        """Captions of the corpora of an evaluation that have images which nobody described: candidates and no more."""
        corpora = (c for c in self.evaluated_corpora(wildcards) if self.corpora[c]["reader"] == "imagecode")
        return [_corpus_table(corpus, "captions") for corpus in corpora]

    def evaluated_features(self, wildcards: Wildcards) -> list[str]:
        """What a captioner reads of every corpus of an evaluation."""
        corpora = self.evaluated_corpora(wildcards)
        return [path for corpus in corpora for path in self.captioner_tables(wildcards.captioner, corpus)]

    def evaluations_in_shards(self, shards: bool) -> str:
        """Regular expression of the evaluations whose images are captioned in several jobs, or of those in one."""
        return any_of(name for name, block in self.evaluations.items() if (block.get("shards", 1) > 1) == shards)

    def captioned_shards(self, wildcards: Wildcards) -> list[str]:
        """The shards of a captioner's captions for an evaluation."""
        shards = shard_names(self.evaluations[wildcards.evaluation]["shards"])
        return [paths.captions(wildcards.captioner, wildcards.evaluation, shard) for shard in shards]

    def decoding_block(self, wildcards: Wildcards) -> Block:
        """The decoding of an evaluation, spelled out."""
        return normalise(self.config["decodings"][self.evaluations[wildcards.evaluation]["decoding"]])

    def decoding_seed(self, wildcards: Wildcards) -> int:
        """Seed of an evaluation's captions; always 0 where nothing is drawn, so that no other seed matters."""
        return int(self.config["seed"]) if self.decoding_block(wildcards)["kind"] == "sample" else 0

    def retrieval_seed(self, wildcards: Wildcards) -> int:
        """Seed of the candidates; always 0 where they are not drawn."""
        return int(self.config["seed"]) if self.retrieval_block(wildcards)["candidate_sets"] == "random" else 0

    def given_captions(self, wildcards: Wildcards) -> list[str]:
        """Files of captions made elsewhere, one for each corpus of an evaluation; none for human captions."""
        captions = self.captioners[wildcards.captioner].get("captions", {})
        return [on_disk(Path(self.data) / captions[c]) for c in self.evaluated_corpora(wildcards) if captions]

    def given_block(self, wildcards: Wildcards) -> Block:
        """What the import of captions depends on, the files aside."""
        return normalise(without(self.captioners[wildcards.captioner], "captions"))

    def references(self, wildcards: Wildcards) -> list[str]:
        """Tokenised references of each corpus of an evaluation."""
        return [paths.references(corpus) for corpus in self.evaluated_corpora(wildcards)]

    def references_per_image(self, wildcards: Wildcards) -> int | None:
        """How many of these captions are compared with, the first ones; None for all."""
        return self.evaluations[wildcards.evaluation].get("references_per_image")

    def retrievers(self, wildcards: Wildcards) -> list[str]:
        """Retrievers of an evaluation."""
        return list(self.evaluations[wildcards.evaluation].get("retrievers", []))

    def retrieval_code(self, script: str) -> Callable[[Wildcards], str]:
        """Fingerprint of a script that loads the retrievers of an evaluation."""
        return lambda wildcards: self.code(script, *self.embedding.modules(*self.retrievers(wildcards)))

    def retrieval_versions(self, *libraries: str) -> Callable[[Wildcards], dict[str, str]]:
        """Versions of these libraries and of those that the retrievers of an evaluation need."""
        return lambda wildcards: self.versions(*libraries, *self.embedding.libraries(*self.retrievers(wildcards)))

    def retriever_files(self, file: str) -> Callable[[Wildcards], list[str]]:
        """A file of each retriever of an evaluation."""
        return lambda wildcards: [paths.encoder(file, name) for name in self.retrievers(wildcards)]

    def retriever_features(self, wildcards: Wildcards) -> list[str]:
        """Feature tables of every corpus of an evaluation by every retriever."""
        corpora = self.evaluated_corpora(wildcards)
        return [
            path for name in self.retrievers(wildcards) for c in corpora for path in self.embedding.features(name, c)
        ]

    def retrieval_block(self, wildcards: Wildcards) -> Block:
        """How many candidates retrieval has and where they come from."""
        evaluation = self.evaluations[wildcards.evaluation]
        return normalise(
            {
                "candidates": evaluation.get("candidates", 100),
                "candidate_sets": evaluation.get("candidate_sets", "file-order"),
            }
        )

    def scored(self, table: str) -> list[str]:
        """One table of scores for every evaluation and captioner that has it."""
        return [
            paths.evaluation(table, captioner, name)
            for name, evaluation in sorted(self.evaluations.items())
            for captioner in sorted(evaluation["captioners"])
            if self._has(table, captioner, evaluation)
        ]

    def scored_captions(self) -> list[str]:
        """The captions that these tables score, whatever the table."""
        tables = [path for table in ("nlg", "retrieval", "spice", "alignment") for path in self.scored(table)]
        places = sorted({paths.captioner_of(path) for path in tables})
        return [paths.captions(captioner, evaluation) for captioner, evaluation in places]

    def _has(self, table: str, captioner: str, evaluation: Block) -> bool:
        if self.family(captioner) == "constructed":
            return False  # they are studied by how they were made, not as one
        if table == "retrieval":
            return bool(evaluation.get("retrievers"))
        if table == "alignment":
            return bool(evaluation.get("scorers"))
        if table == "spice" and self.spice == "off":
            return False
        return self.family(captioner) != "human"  # human captions are the references

    def spice_file(self, file: str) -> str:
        """A file that says which parser models SPICE needs."""
        return on_disk(self.root / "envs" / "spice" / file)

    def parses(self, wildcards: Wildcards) -> list[str]:
        """Parsed references of each corpus of an evaluation."""
        return [paths.parses(corpus) for corpus in self.evaluated_corpora(wildcards)]

    # ------------------------------------------------------------------------------------------- reporting
    def lineage(self) -> Block:
        """For each captioner: its parent, family and rewarding retriever, and what it and its ancestors trained on."""
        found: Block = {}
        for name, block in sorted(self.captioners.items()):
            corpora, ancestor = [], name
            while True:
                if corpus := self.captioners[ancestor].get("corpus"):
                    corpora.append(corpus)
                if "parent" not in self.captioners[ancestor]:
                    break
                ancestor = self.captioners[ancestor]["parent"]
            reward = block.get("objective", {}).get("reward", {})
            found[name] = {
                "parent": block.get("parent"),
                "corpora": corpora,
                "family": self.family(name),
                "retriever": reward.get("retriever"),
            }
        return found

    def evaluation_contexts(self) -> Block:
        """For each evaluation: the name of its decoding and the split of each of its corpora."""
        return {
            name: {
                "decoding": evaluation.get("decoding", "given"),
                "splits": {corpus: self.evaluation_split(corpus) for corpus in sorted(evaluation["corpora"])},
            }
            for name, evaluation in sorted(self.evaluations.items())
        }

    def published(self, file: str) -> str:
        """A file of published patterns or templates."""
        return on_disk(self.root / "config" / "published" / file)

    def tables(self) -> list[str]:
        """Every table that the config asks for, in every format, and what they cost."""
        return [*self.measured_tables(), *(paths.reporting(f"cost.{ending}") for ending in GENERAL_FORMATS)]

    def measured_tables(self) -> list[str]:
        """The tables of measurements among them."""
        general = ["evaluation", *(["claims"] if self.config.get("papers") else []), *self.validity.tables()]
        return [
            *self.language.tables(),
            *(paths.reporting(f"{name}.{ending}") for name in general for ending in GENERAL_FORMATS),
            *self.papers.tables(),
        ]

    def provenance(self) -> Block:
        """What the footer of every table says of the run, the commit aside, which is read when the table is made."""
        libraries = ("torch", "transformers", "open_clip_torch", "pycocoevalcap", "spacy")
        return {
            "config": self.config.get("name", "unnamed"),
            "seed": self.config["seed"],
            "toy": any(corpus["reader"] == "toyworld" for corpus in self.corpora.values()),
            "versions": self.versions(*libraries),
        }


def _corpus_table(corpus: str, table: str) -> str:
    return paths.corpus(table, corpus)


@cache
def _version(library: str) -> str:
    """The installed version, for which a file is parsed."""
    return importlib.metadata.version(library)
