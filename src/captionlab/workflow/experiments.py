"""The config as a graph: what each job reads, and the smallest part of the config that it depends on.

A rule names a method of `Experiments`, or of a part of it, as its input function or parameter; Snakemake calls it with
the wildcards.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from captionlab import paths
from captionlab.config.settings import Settings
from captionlab.config.snapshots import with_snapshots
from captionlab.failures import locked
from captionlab.judgements import JUDGED
from captionlab.plugins import facts
from captionlab.sources.table import hub_folder
from captionlab.workflow.basis import CAPTIONER, Basis, Loaded, Wildcards, loaded, memory, on_disk
from captionlab.workflow.blocks import TRAINING_DECODINGS, Block, has_captions, normalise, root_of, without
from captionlab.workflow.browser import Browser
from captionlab.workflow.commands import COMMAND, Commands
from captionlab.workflow.config import ConfigError, checked, named_paths
from captionlab.workflow.documenting import Documenting
from captionlab.workflow.embedding import Embedding
from captionlab.workflow.families import asked_tables, captioners, readers, score_tables
from captionlab.workflow.judgements import Judgements, with_judgements
from captionlab.workflow.language import Construction, Language
from captionlab.workflow.metrics import Metrics
from captionlab.workflow.regions import Regions
from captionlab.workflow.report import Page, labels_of, paper_of
from captionlab.workflow.retrieving import Retrieving, retrieval
from captionlab.workflow.scene_analysis import SceneAnalysis
from captionlab.workflow.scoring import RewardModels, Scoring
from captionlab.workflow.seeds import SECTIONS, trainings
from captionlab.workflow.study import Study
from captionlab.workflow.validity import Validity


class Experiments(Basis):
    """The experiments that a config declares; `root` is the folder of the Snakefile."""

    # The files of the captioner of a job, by name, which rules make.
    captioner_model: Mapping[str, str] = {name: paths.captioner(file) for name, file in CAPTIONER.items()}
    memory, paper_of, labels_of = staticmethod(memory), staticmethod(paper_of), staticmethod(labels_of)

    def __init__(self, config: Block, root: Path | str):
        super().__init__(with_judgements(checked(config, Path(root))), root)
        # The same files where rules read them, and those that they are read with where they are adapters.
        self.captioner_inputs: Mapping[str, Any] = {
            **self.captioner_model,
            "ancestors": lambda wildcards: self.ancestor_files(wildcards.captioner),
        }
        # Of each captioner with several seeds its trainings.
        seeds = {section: trainings(with_snapshots(config), section) for section in SECTIONS}
        self.trainings = seeds["captioners"]
        self.settings = Settings(self.config, self.data, self.trainings)
        self.spice: str = self.config["spice"] or "off"
        self.embedding = Embedding(self)
        self.regions = Regions(self, self.embedding)
        self.scoring = Scoring(self, self.regions)
        self.metrics = Metrics(self, self.embedding)
        self.judgements = Judgements(self, self.scoring)
        self.commands = Commands(self)
        self.reward_models = RewardModels(self, self.scoring)
        self.scene_analysis = SceneAnalysis(self, self.regions)
        self.language = Language(self)
        self.construction = Construction(self)
        self.study = Study(self, self.embedding)
        self.validity = Validity(self, self.scoring, self.study)
        if self.config["retrieve"]:
            self.retrieving = Retrieving(retrieval(self.config, named_paths(self.config), self.root))
        self.documenting = Documenting(self, seeds)

    @cached_property
    def browser(self) -> Browser:
        """The page of what captioners said."""
        return Browser(self, self.score_tables(), self.scored_captions(), self.score_factors())

    def check_files(self) -> None:
        """Raise a ConfigError that lists each file or folder that is not there, once, or that has a name of another."""
        from captionlab.corpora.inputs import input_mistakes

        read = {name: corpus for name, corpus in self.corpora.items() if corpus["reader"] not in ("toyworld", JUDGED)}
        mistakes = [said for name, corpus in read.items() for said in input_mistakes(corpus, Path(self.data), name)]
        models = [*self.named("captioners", "config", "weights", "tokenizer", "captions")]
        models += [*self.named("encoders", "config"), *self.embedding.files()]
        of_folders = {
            f"{section}.{name}.weights" for section in ("captioners", "encoders") for name in self._hub(section)
        }
        others = [*self.language.files(), *self.study.files(), *self.commands.environments(), *self.commands.scripts()]
        mistakes += self.missing([*(one for one in models if one[0] not in of_folders), *others])
        mistakes += self.missing([one for one in models if one[0] in of_folders], kind="folder")
        scorers = self.named("scorers", "config", "weights", "vocabulary")
        folders = [*self.named("regions", "weights", "files"), *scorers]
        mistakes += [*self.missing(folders, kind="file or folder"), *self.missing(self.named("tags", "files"))]
        mistakes += [*self.language.missing_tagger(), *self.metrics.missing_categories(), *self.judgements.missing()]
        to_do = self.retrieving.said() if self.retrieving else {}
        keys_of: dict[str, list[str]] = {}
        for key, _, said in (mistake.partition(": ") for mistake in mistakes):
            if to_do.get(said) != "":
                keys_of.setdefault(f"{said}. {to_do[said]}" if said in to_do else said, []).append(key)
        if keys_of:
            mistakes = [f"{', '.join(dict.fromkeys(keys))}: {said}" for said, keys in keys_of.items()]
            what = (
                f"files are missing below {self.data} (docs/data.md says where they come from; ./lab data fetches most)"
            )
            raise ConfigError.listing(what, mistakes)
        if taken := [*self.metrics.taken_categories()]:
            raise ConfigError.listing("it is not clear which lists of categories are meant", taken)

    def _hub(self, section: str) -> list[str]:
        """Models of a section that were published as folders."""
        declared = facts(section)
        blocks = {name: declared.get(block.get("family")) for name, block in self.config[section].items()}
        return [
            name
            for name, family in blocks.items()
            if family and family.folder and "run" not in self.config[section][name]
        ]

    def check_results(self) -> None:
        """Raise a ConfigError where results may not be written."""
        place = next(place for place in (Path(paths.RESULTS), Path.cwd()) if place.exists())
        if not os.access(place, os.W_OK):
            raise ConfigError(locked(place.absolute()))

    def lend_library(self) -> None:
        """Let scripts import the library of this checkout, also in an environment that Snakemake made."""
        others = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        library = str(self.root / "src")
        os.environ["PYTHONPATH"] = os.pathsep.join([library, *(path for path in others if path not in ("", library))])

    # --------------------------------------------------------------------------------------------- corpora
    def reader(self, wildcards: Wildcards) -> Loaded:
        """What a script loads that reads the corpus of a job."""
        return loaded("corpora.readers", [self.corpora[wildcards.corpus]["reader"]])

    def listed_folders(self, wildcards: Wildcards) -> list[str]:
        """Folders of which a reader reads the names, each with those in it: one more image makes the corpus anew."""
        return [on_disk(path) for path in self._input_files(wildcards) if path.is_dir()]

    def _input_files(self, wildcards: Wildcards) -> list[Path]:
        from captionlab.corpora.inputs import input_files

        if self.retrieving:
            self.wait_for(self.corpus_paths(wildcards.corpus))
        return input_files(self.corpora[wildcards.corpus], Path(self.data))

    def corpus_paths(self, name: str) -> list[str]:
        """The files and folders that a corpus names, under whichever key, and what it has of the hub."""
        corpus = self.corpora[name]
        hub = [hub_folder(corpus["repository"], corpus["revision"])] if "repository" in corpus else []
        return [*hub, *named_paths({"corpora": {name: corpus}})]

    def fetched(self) -> list[Block]:
        """What the rule `retrieve` fetches."""
        return self.retrieving.sources() if self.retrieving else []

    # ------------------------------------------------------------------------------------------ captioners
    def captioner_block(self, wildcards: Wildcards) -> Block:
        """What the training or import of a captioner depends on, with the decodings that it names spelled out."""
        names = ("corpus", "parent", "seed", "encoder", "regions", "tags", "run", "config")
        given = self.captioners[wildcards.captioner]
        block = without(given, *names)
        for part, key in TRAINING_DECODINGS:
            if key in block.get(part, {}):
                block[part] = {**block[part], key: self.decoding(block[part][key])}
        published = "weights" in given and "run" not in given  # else config.json beside the weights says it
        if published and captioners()[given["family"]].reads == "patches-or-pixels":
            block["reads"] = "table" if "encoder" in given else "pixels"
        return normalise(block)

    def training_features(self, wildcards: Wildcards) -> list[str]:
        """What a captioner reads of the corpus that it is trained on."""
        return self.regions.captioner_tables(wildcards.captioner, self.captioners[wildcards.captioner]["corpus"])

    def embedded_split(self, wildcards: Wildcards) -> str | None:
        """The split whose images an encoder embeds, that which evaluations use; None for all of a corpus."""
        wholly = (wildcards.encoder, wildcards.corpus) in self._wholly_embedded
        return None if wholly else self.evaluation_split(wildcards.corpus)

    @cached_property
    def _wholly_embedded(self) -> set[tuple[str, str]]:
        """Encoders and corpora of whose embeddings something learns, or by which scenes are analysed."""
        of_captioners = [self.training_features, self.reward_models.tables("features")]
        learning = [SimpleNamespace(captioner=n) for n, block in self.captioners.items() if "objective" in block]
        read = [path for tables in of_captioners for one in learning for path in tables(one)]
        of_scorers = [self.scoring.training_regions, self.scoring.training_neighbours]
        read += [
            path
            for tables in of_scorers
            for scorer in self.scoring.trained()
            for path in tables(SimpleNamespace(scorer=scorer))
        ]
        read += self.scene_analysis.shared_features()
        of_images = (Path(path) for path in read if paths.stage_of(path) == "features")
        return {(path.parts[-3], path.parts[-2]) for path in of_images}

    def image_side(self, wildcards: Wildcards) -> list[str]:
        """The weights of the encoder whose patches a captioner reads."""
        encoder = self.captioners[root_of(self.config, wildcards.captioner)].get("encoder")
        patches = self.encoders.get(encoder, {}).get("patches_of")
        return [paths.encoder("model.safetensors", patches)] if patches else []

    def parent(self, file: str) -> Callable[[Wildcards], str]:
        """A file of the captioner that this one is finetuned from."""
        return lambda wildcards: paths.captioner(file, self.captioners[wildcards.captioner]["parent"])

    def parent_ancestors(self, wildcards: Wildcards) -> list[str]:
        """The files that it is read with, where it is adapters."""
        return self.ancestor_files(self.captioners[wildcards.captioner]["parent"])

    # ----------------------------------------------------------------------------------------- evaluations
    def evaluated_corpora(self, wildcards: Wildcards) -> list[str]:
        """Corpora of an evaluation, in the order of the config."""
        return list(self.evaluations[wildcards.evaluation]["corpora"])

    def of_corpora(self, found: Callable[[str], str]) -> Callable[[Wildcards], list[str]]:
        """What a function finds for each of these corpora: its split, or a table."""
        return lambda wildcards: [found(corpus) for corpus in self.evaluated_corpora(wildcards)]

    def unreferenced(self) -> list[str]:
        """Corpora of all evaluations whose images have no captions."""
        corpora = {corpus for evaluation in self.evaluations.values() for corpus in evaluation["corpora"]}
        return sorted(corpus for corpus in corpora if not has_captions(self.corpora[corpus]))

    def described(self, wildcards: Wildcards) -> list[str]:
        """Captions of the corpora of an evaluation that have images which nobody described: candidates and no more."""
        undescribed = {name for name, reader in readers().items() if reader.undescribed}
        corpora = (c for c in self.evaluated_corpora(wildcards) if self.corpora[c]["reader"] in undescribed)
        return [paths.corpus("captions", corpus) for corpus in corpora]

    def evaluated_features(self, wildcards: Wildcards) -> list[str]:
        """What a captioner reads of every corpus of an evaluation."""
        corpora = self.evaluated_corpora(wildcards)
        return [path for corpus in corpora for path in self.regions.captioner_tables(wildcards.captioner, corpus)]

    def retrievers(self, wildcards: Wildcards) -> list[str]:
        """Retrievers of an evaluation."""
        return list(self.evaluations[wildcards.evaluation]["retrievers"])

    def retriever_features(self, wildcards: Wildcards) -> list[str]:
        """Feature tables of every corpus of an evaluation by every retriever."""
        corpora = self.evaluated_corpora(wildcards)
        tables = (self.embedding.features(name, c) for name in self.retrievers(wildcards) for c in corpora)
        return list(chain.from_iterable(tables))

    def scored(self, table: str) -> list[str]:
        """The tables of scores of this name of all evaluations and captioners; of commands one for each of them."""
        if table == COMMAND:
            return self.commands.scored()
        return list(dict.fromkeys(paths.scores(table, *place) for place in self.scored_places(table)))

    def scored_places(self, table: str) -> Iterator[tuple[str, str]]:
        """Each captioner and evaluation that have scores in a table of this name."""
        for name, evaluation in sorted(self.evaluations.items()):
            if table in asked_tables(self.config, evaluation):
                for captioner in self.scored_captioners(name, score_tables()[table].references):
                    yield captioner, name

    def score_tables(self) -> dict[str, list[str]]:
        """These tables by their names, those that the config asks for."""
        found = {table: self.scored(table) for table in score_tables()}
        return {table: files for table, files in found.items() if files}

    def score_factors(self) -> dict[str, float]:
        """What scores of scorers and of commands are printed times."""
        return {**self.scoring.factors(), **self.commands.factors()}

    def scored_captions(self) -> list[str]:
        """The captions that these tables score, whatever the table."""
        places = {place for table in score_tables() for place in self.scored_places(table)}
        return [paths.captions(*place) for place in sorted(places)]

    # ------------------------------------------------------------------------------------------- reporting
    def lineage(self) -> Block:
        """For each captioner: its parent, family and rewarding retriever, and what it and its ancestors trained on."""
        found: Block = {}
        for name, block in sorted(self.captioners.items()):
            if block.get("family") == JUDGED:
                continue
            line = [block]
            while "parent" in line[-1]:
                line.append(self.captioners[line[-1]["parent"]])
            found[name] = {
                "parent": block.get("parent"),
                "corpora": [ancestor["corpus"] for ancestor in line if "corpus" in ancestor],
                "family": line[-1]["family"],
                "retriever": block.get("objective", {}).get("reward", {}).get("retriever"),
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
            if name not in self.judgements.sets
        }

    def claims_table(self) -> list[str]:
        """The rows of the table of claims, where the config asks for a paper."""
        return [paths.reporting("claims.csv")] if self.config["papers"] else []

    def validity_table(self) -> list[str]:
        """The rows of the table of validity, where the config asks for it."""
        return [paths.reporting("validity.csv")] if self.validity.config else []

    def pages(self) -> list[Page]:
        """The pages beside the tables, which their index names and cells of tables lead to."""
        said = "Every image with what people and captioners said of it, found or not, and how it was scored."
        browser = Page("The browser of captions", said, paths.BROWSER, "index.html")
        return [*([browser] if self.scored_captions() else []), *self.study.pages()]

    def provenance(self) -> Block:
        """What the footer of every table says of the run, the commit aside, which is read when the table is made."""
        return {
            "config": self.config["name"],
            "seed": self.config["seed"],
            "toy": any(corpus["reader"] == "toyworld" for corpus in self.corpora.values()),
            "versions": self.versions("torch", "transformers", "open_clip_torch", "pycocoevalcap", "spacy"),
        }
