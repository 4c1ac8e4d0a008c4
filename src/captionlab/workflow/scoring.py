"""Scorers of a config, and the models that rewards ask: what their jobs read, and what each depends on."""

from collections.abc import Callable, Iterable
from itertools import chain

from captionlab import paths
from captionlab.workflow import families
from captionlab.workflow.basis import Basis, Loaded, Wildcards, loaded
from captionlab.workflow.blocks import OF_REFERENCES, Block, model_kind, normalise, without
from captionlab.workflow.regions import Regions

# Keys of a trained scorer that name other parts of the config, or that another parameter holds.
_NAMES = ("regions", "corpus", "seed", "weights", "vocabulary", "encoder", "run", "config")

# The table of a scorer that says how good it is.
MATCHING = "matching.parquet"

# Printed are per cent; a scorer with at least this scale gives them already.
PER_CENT = 100.0


class Scoring:
    """The scorers of a config."""

    def __init__(self, basis: Basis, regions: Regions):
        self.basis, self.regions, self.embedding = basis, regions, regions.embedding
        self.scorers: Block = basis.config["scorers"]

    def trained(self) -> list[str]:
        """Scorers that are trained here."""
        return [name for name, block in sorted(self.scorers.items()) if model_kind(block) == "trained"]

    def matching(self) -> dict[str, str]:
        """Return, for each scorer that is trained here, the table that says how good the scorer is.

        A scorer of another run is among them if such a table lies beside its weights.
        """
        found = {name: paths.scorer(MATCHING, name) for name in self.trained()}
        for name, block in self.scorers.items():
            if "run" in block and self.basis.located(f"{block['run']}/{MATCHING}").is_file():
                found[name] = self.basis.given(f"{block['run']}/{MATCHING}")
        return dict(sorted(found.items()))

    def factors(self) -> dict[str, float]:
        """For each scorer the factor that puts its scores into per cent."""
        # A probability and a cosine become per cent; by the default of CLIP's family they are already.
        return {n: 1.0 if block["scale"] >= PER_CENT else PER_CENT for n, block in sorted(self.scorers.items())}

    def bounds(self) -> dict[str, tuple[float, float]]:
        """Return the bounds of the scores of each scorer in per cent; a cosine may be negative, a probability not."""
        found = {}
        for name, factor in self.factors().items():
            block = self.scorers[name]
            highest = factor * block["scale"]
            signed = model_kind(block) == "encoder" and not block["clamp"]
            found[name] = (-highest if signed else 0.0, highest)
        return found

    def folder(self, scorer: str) -> list[str]:
        """The files of a scorer; all lie in one folder, which `captionlab.scorers.store.load_scorer` takes."""
        words = [] if model_kind(self.scorers[scorer]) == "encoder" else ["vocab.txt"]
        return [paths.scorer(file, scorer) for file in ("config.json", "model.safetensors", *words)]

    def features(self, scorer: str, corpus: str) -> list[str]:
        """The tables that `captionlab.scorers.images.ScorerImages` reads: regions, embeddings or the images."""
        block = self.scorers[scorer]
        reads = families.scorers()[block["family"]].reads
        if reads == "embeddings":
            return self.embedding.features(block["encoder"], corpus)
        return [paths.corpus("images", corpus)] if reads == "pixels" else self.regions.tables(block["regions"], corpus)

    def loaded(self, scorers: Iterable[str]) -> Loaded:
        """What a script loads that uses these scorers."""
        blocks = [self.scorers[scorer] for scorer in scorers]
        encoders = [block["encoder"] for block in blocks if model_kind(block) == "encoder"]
        return {**loaded("scorers", (block["family"] for block in blocks)), **self.embedding.loaded(encoders)}

    # ---------------------------------------------------------------------------------- the scorer of a job
    def used(self, wildcards: Wildcards) -> Loaded:
        """What a script loads that uses the scorer of a job."""
        return self.loaded([wildcards.scorer])

    def block(self, wildcards: Wildcards) -> Block:
        """What the import or training of a scorer depends on, files and names aside."""
        block = without(self.scorers[wildcards.scorer], *_NAMES)
        if "negatives" in block:
            block["negatives"] = without(block["negatives"], "encoder")
        return normalise(block)

    def file(self, key: str) -> Callable[[Wildcards], str]:
        """A file that a scorer is imported from: weights or vocabulary."""
        return lambda wildcards: self.basis.given(self.scorers[wildcards.scorer][key])

    def encoder(self, file: str) -> Callable[[Wildcards], str]:
        """A file of the encoder that a scorer is."""
        return lambda wildcards: paths.encoder(file, self.scorers[wildcards.scorer]["encoder"])

    # -------------------------------------------------------------------------------------------- training
    def training_regions(self, wildcards: Wildcards) -> list[str]:
        """Tables of regions of the corpus that a scorer is trained on."""
        return self.features(wildcards.scorer, self.scorers[wildcards.scorer]["corpus"])

    def training_neighbours(self, wildcards: Wildcards) -> list[str]:
        """Feature tables that say which images of that corpus are alike."""
        block = self.scorers[wildcards.scorer]
        return self.embedding.features(block["negatives"]["encoder"], block["corpus"])

    def words_encoder(self, wildcards: Wildcards) -> list[str]:
        """The encoder that word pieces start from, which is that of the regions; none for a random start."""
        block = self.scorers[wildcards.scorer]
        aligned = block["word_embeddings"] == "encoder"
        return [self.regions.regions[block["regions"]]["encoder"]] if aligned else []

    def trained_with(self, wildcards: Wildcards) -> Loaded:
        """What the script loads that trains a scorer: also the encoder that its word pieces start from."""
        return {**self.used(wildcards), **self.embedding.loaded(self.words_encoder(wildcards))}

    def training_split(self, wildcards: Wildcards) -> str:
        """The split of that corpus that a trained scorer is examined on."""
        return self.basis.evaluation_split(self.scorers[wildcards.scorer]["corpus"])

    # ----------------------------------------------------------------------------------------- evaluations
    def evaluated_folders(self, wildcards: Wildcards) -> list[str]:
        """All files of all scorers of an evaluation."""
        return [path for scorer in self.sources(wildcards) for path in self.folder(scorer)]

    def evaluated_features(self, wildcards: Wildcards) -> list[str]:
        """The tables of every corpus of an evaluation that its scorers read, each once."""
        of_scorers = (of_corpora.values() for of_corpora in self.sources(wildcards).values())
        return list(dict.fromkeys(chain.from_iterable(chain.from_iterable(of_scorers))))

    def sources(self, wildcards: Wildcards) -> Block:
        """For each scorer of an evaluation, the tables that it reads of each corpus."""
        evaluation = self.basis.evaluations[wildcards.evaluation]
        return {name: {c: self.features(name, c) for c in evaluation["corpora"]} for name in evaluation["scorers"]}

    def evaluated_with(self, wildcards: Wildcards) -> Loaded:
        """What a script loads that uses the scorers of an evaluation."""
        return self.loaded(self.sources(wildcards))


class RewardModels:
    """What an objective reads beside images and embeddings: references, and the retrievers and scorers that it asks."""

    def __init__(self, basis: Basis, scoring: Scoring):
        self.basis, self.scoring, self.embedding = basis, scoring, scoring.embedding

    def captions(self, wildcards: Wildcards) -> list[str]:
        """The references that a captioner is trained on or selected by; none for a reward that reads none."""
        block = self.basis.captioners[wildcards.captioner]
        rewarded = any(
            families.rewards()[reward["kind"]].references for reward in self.basis.rewards(wildcards.captioner)
        )
        needed = "validation" in block or block["objective"]["kind"] in OF_REFERENCES or rewarded
        return [paths.corpus("captions", block["corpus"])] if needed else []

    def asked(self, wildcards: Wildcards) -> Block:
        """The retrievers and scorers that a reward asks: folder, and feature tables of the training corpus."""
        corpus = self.basis.captioners[wildcards.captioner]["corpus"]
        retrievers, scorers = (self._named(asked, wildcards) for asked in ("retriever", "scorer"))
        found = {f"encoders/{name}": self.embedding.features(name, corpus) for name in retrievers}
        found |= {f"scorers/{name}": self.scoring.features(name, corpus) for name in scorers}
        directories = {name: paths.reward_model(*name.split("/")) for name in sorted(found)}
        reward_models: Block = {n: {"directory": place, "features": found[n]} for n, place in directories.items()}
        for reward in self.basis.rewards(wildcards.captioner):
            if "hard_negatives" in reward:
                table = paths.neighbours(reward["retriever"], corpus, reward["hard_negatives"])
                reward_models[f"encoders/{reward['retriever']}"]["neighbours"] = [table]
        return reward_models

    def files(self, wildcards: Wildcards) -> list[str]:
        """Files of these, their tables aside."""
        files = []
        for kind, name in (reward_model.split("/") for reward_model in self.asked(wildcards)):
            encoder = [paths.encoder(file, name) for file in ("config.json", "model.safetensors")]
            files += self.scoring.folder(name) if kind == "scorers" else encoder
        return files

    def tables(self, kind: str) -> Callable[[Wildcards], list[str]]:
        """Their tables of embeddings (`kind` features) or of regions, each once."""

        def chosen(wildcards: Wildcards) -> list[str]:
            every = [path for reward_model in self.asked(wildcards).values() for path in reward_model["features"]]
            return [path for path in dict.fromkeys(every) if paths.stage_of(path) == kind]

        return chosen

    def neighbours(self, wildcards: Wildcards) -> list[str]:
        """Tables of hard negatives, where the reward has some."""
        return [path for reward_model in self.asked(wildcards).values() for path in reward_model.get("neighbours", [])]

    def used(self, wildcards: Wildcards) -> Loaded:
        """What a training loads: the family of its captioner, its objective, its rewards and what these ask."""
        objective = self.basis.captioners[wildcards.captioner]["objective"]["kind"].replace("-", "_")
        return {
            f"captionlab.training.objectives.{objective}": (),
            **self.basis.loaded_captioners(wildcards.captioner),
            **loaded("training.rewards", (reward["kind"] for reward in self.basis.rewards(wildcards.captioner))),
            **self.scoring.loaded(self._named("scorer", wildcards)),
            **self.embedding.loaded(self._named("retriever", wildcards)),
        }

    def _named(self, asked: str, wildcards: Wildcards) -> list[str]:
        """The retrievers or scorers that a captioner's rewards ask."""
        of_captioner = self.basis.rewards(wildcards.captioner)
        return [reward[asked] for reward in of_captioner if families.rewards()[reward["kind"]].asks == asked]
