"""What the objective of a captioner reads beside images and embeddings: references, and those that its reward asks.

A rule names a method of `RewardModels` as its input function or parameter; Snakemake calls it with the wildcards.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from captionlab import paths
from captionlab.workflow.blocks import RETRIEVAL, Block

if TYPE_CHECKING:
    from captionlab.workflow.experiments import Experiments

READ_REFERENCES = {"cross-entropy", "mlm", "cider", "bleu", "fluency"}


class Captioned(Protocol):
    """The wildcard of a job that trains a captioner."""

    captioner: str


class Mined(Protocol):
    """The wildcards of a job that mines neighbours."""

    encoder: str
    corpus: str


class RewardModels:
    """The retrievers and scorers whose word a captioner is trained by."""

    def __init__(self, lab: "Experiments"):
        self.lab = lab

    def captions(self, wildcards: Captioned) -> list[str]:
        """The references that a captioner is trained on or selected by; none for a reward that reads none."""
        block = self.lab.captioners[wildcards.captioner]
        kinds = {block["objective"]["kind"], *(reward["kind"] for reward in self._rewards(wildcards))}
        needed = "validation" in block or kinds & READ_REFERENCES
        return [paths.corpus("captions", block["corpus"])] if needed else []

    def asked(self, wildcards: Captioned) -> Block:
        """The retrievers and scorers that a reward asks: folder, and feature tables of the training corpus."""
        corpus = self.lab.captioners[wildcards.captioner]["corpus"]
        found: dict[str, list[str]] = {}
        for reward in self._rewards(wildcards):
            if reward["kind"] in RETRIEVAL:
                found[f"encoders/{reward['retriever']}"] = self.lab.embedding.features(reward["retriever"], corpus)
            elif reward["kind"] == "scorer":
                found[f"scorers/{reward['scorer']}"] = self.lab.scoring.features(reward["scorer"], corpus)
        reward_models: Block = {
            name: {"directory": paths.reward_model(*name.split("/")), "features": found[name]} for name in sorted(found)
        }
        for reward in self._rewards(wildcards):
            if "hard_negatives" in reward:
                table = paths.neighbours(reward["retriever"], corpus, reward["hard_negatives"])
                reward_models[f"encoders/{reward['retriever']}"]["neighbours"] = [table]
        return reward_models

    def files(self, wildcards: Captioned) -> list[str]:
        """Files of these, their tables aside."""
        files = []
        for reward_model in self.asked(wildcards):
            kind, name = reward_model.split("/")
            encoder = [paths.encoder(file, name) for file in ("config.json", "model.safetensors")]
            files += self.lab.scoring.folder(name) if kind == "scorers" else encoder
        return files

    def tables(self, kind: str) -> Callable[[Captioned], list[str]]:
        """Their tables of embeddings (`kind` features) or of regions, each once."""

        def chosen(wildcards: Captioned) -> list[str]:
            every = [path for reward_model in self.asked(wildcards).values() for path in reward_model["features"]]
            return [path for path in dict.fromkeys(every) if paths.stage_of(path) == kind]

        return chosen

    def neighbours(self, wildcards: Captioned) -> list[str]:
        """Tables of hard negatives, where the reward has some."""
        return [path for reward_model in self.asked(wildcards).values() for path in reward_model.get("neighbours", [])]

    def mined_features(self, wildcards: Mined) -> list[str]:
        """Feature tables in which neighbours are looked for."""
        return self.lab.embedding.features(wildcards.encoder, wildcards.corpus)

    def code(self, wildcards: Captioned) -> str:
        """Fingerprint of the finetuning script with the families of captioner and reward models."""
        reward_models = [
            *self.lab.scoring.modules(*self._scorers(wildcards)),
            *self.lab.embedding.modules(*self._retrievers(wildcards)),
        ]
        return self.lab.code(
            "finetune_captioner", *self.lab.family_modules(wildcards.captioner), *sorted(set(reward_models))
        )

    def versions(self, wildcards: Captioned) -> dict[str, str]:
        """Versions of the libraries whose numerics matter to finetuning and to the reward models that it asks."""
        known = {"numpy", "pycocoevalcap"} | self.lab.family_libraries(wildcards.captioner)
        encoders = self.lab.embedding.libraries(*self._retrievers(wildcards))
        return self.lab.versions(*known.union(encoders, self.lab.scoring.libraries(*self._scorers(wildcards))))

    def _rewards(self, wildcards: Captioned) -> list[Mapping[str, Any]]:
        """The rewards that a captioner's reward is made of."""
        return self.lab.rewards(wildcards.captioner)

    def _retrievers(self, wildcards: Captioned) -> list[str]:
        """The retrievers that a captioner's reward asks."""
        return sorted({reward["retriever"] for reward in self._rewards(wildcards) if reward["kind"] in RETRIEVAL})

    def _scorers(self, wildcards: Captioned) -> list[str]:
        """The scorers that a captioner's reward asks."""
        return sorted({reward["scorer"] for reward in self._rewards(wildcards) if reward["kind"] == "scorer"})
