"""What the objective of a captioner reads beside images and embeddings: references, and those that its reward asks.

A rule names a method of `RewardModels` as its input function or parameter; Snakemake calls it with the wildcards.
"""

from collections.abc import Callable

from captionlab import paths
from captionlab.workflow.basis import Basis, Loaded, Wildcards, loaded
from captionlab.workflow.blocks import RETRIEVAL, Block
from captionlab.workflow.scoring import Scoring

READ_REFERENCES = {"cross-entropy", "mlm", "cider", "bleu", "fluency"}


class RewardModels:
    """The retrievers and scorers whose word a captioner is trained by."""

    def __init__(self, basis: Basis, scoring: Scoring):
        self.basis, self.scoring, self.embedding = basis, scoring, scoring.embedding

    def captions(self, wildcards: Wildcards) -> list[str]:
        """The references that a captioner is trained on or selected by; none for a reward that reads none."""
        block = self.basis.captioners[wildcards.captioner]
        kinds = {block["objective"]["kind"], *(reward["kind"] for reward in self.basis.rewards(wildcards.captioner))}
        needed = "validation" in block or kinds & READ_REFERENCES
        return [paths.corpus("captions", block["corpus"])] if needed else []

    def asked(self, wildcards: Wildcards) -> Block:
        """The retrievers and scorers that a reward asks: folder, and feature tables of the training corpus."""
        corpus = self.basis.captioners[wildcards.captioner]["corpus"]
        found: dict[str, list[str]] = {}
        for reward in self.basis.rewards(wildcards.captioner):
            if reward["kind"] in RETRIEVAL:
                found[f"encoders/{reward['retriever']}"] = self.embedding.features(reward["retriever"], corpus)
            elif reward["kind"] == "scorer":
                found[f"scorers/{reward['scorer']}"] = self.scoring.features(reward["scorer"], corpus)
        reward_models: Block = {
            name: {"directory": paths.reward_model(*name.split("/")), "features": found[name]} for name in sorted(found)
        }
        for reward in self.basis.rewards(wildcards.captioner):
            if "hard_negatives" in reward:
                table = paths.neighbours(reward["retriever"], corpus, reward["hard_negatives"])
                reward_models[f"encoders/{reward['retriever']}"]["neighbours"] = [table]
        return reward_models

    def files(self, wildcards: Wildcards) -> list[str]:
        """Files of these, their tables aside."""
        files = []
        for reward_model in self.asked(wildcards):
            kind, name = reward_model.split("/")
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
        """What the finetuning script loads: the families of the captioner and of the models that its reward asks."""
        rewards = self.basis.rewards(wildcards.captioner)
        retrievers = [reward["retriever"] for reward in rewards if reward["kind"] in RETRIEVAL]
        scorers = [reward["scorer"] for reward in rewards if reward["kind"] == "scorer"]
        captioner = loaded("captioners", [self.basis.family(wildcards.captioner)])
        return {**captioner, **self.scoring.loaded(scorers), **self.embedding.loaded(retrievers)}
