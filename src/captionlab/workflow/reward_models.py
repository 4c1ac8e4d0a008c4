"""What the objective of a captioner reads beside images and embeddings: references, and the models that it asks."""

from collections.abc import Callable

from captionlab import paths
from captionlab.workflow.basis import Basis, Loaded, Wildcards, loaded
from captionlab.workflow.blocks import OF_REFERENCES, Block
from captionlab.workflow.families import rewards
from captionlab.workflow.scoring import Scoring


class RewardModels:
    """The retrievers and scorers whose word a captioner is trained by."""

    def __init__(self, basis: Basis, scoring: Scoring):
        self.basis, self.scoring, self.embedding = basis, scoring, scoring.embedding

    def captions(self, wildcards: Wildcards) -> list[str]:
        """The references that a captioner is trained on or selected by; none for a reward that reads none."""
        block = self.basis.captioners[wildcards.captioner]
        rewarded = any(rewards()[reward["kind"]].references for reward in self.basis.rewards(wildcards.captioner))
        needed = "validation" in block or block["objective"]["kind"] in OF_REFERENCES or rewarded
        return [paths.corpus("captions", block["corpus"])] if needed else []

    def asked(self, wildcards: Wildcards) -> Block:
        """The retrievers and scorers that a reward asks: folder, and feature tables of the training corpus."""
        corpus = self.basis.captioners[wildcards.captioner]["corpus"]
        retrievers, scorers = (self._named(asked, wildcards) for asked in ("retriever", "scorer"))
        found = {f"encoders/{name}": self.embedding.features(name, corpus) for name in retrievers}
        found |= {f"scorers/{name}": self.scoring.features(name, corpus) for name in scorers}
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
            **loaded("captioners", [self.basis.family(wildcards.captioner)]),
            **loaded("training.rewards", (reward["kind"] for reward in self.basis.rewards(wildcards.captioner))),
            **self.scoring.loaded(self._named("scorer", wildcards)),
            **self.embedding.loaded(self._named("retriever", wildcards)),
        }

    def _named(self, asked: str, wildcards: Wildcards) -> list[str]:
        """The retrievers or scorers that a captioner's rewards ask."""
        of_captioner = self.basis.rewards(wildcards.captioner)
        return [reward[asked] for reward in of_captioner if rewards()[reward["kind"]].asks == asked]
