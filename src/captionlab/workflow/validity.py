"""The part of the config that asks whether a run is valid: what that table reads. All is empty where nobody asks."""

import json

from captionlab import paths
from captionlab.config.snapshots import training_of
from captionlab.workflow.basis import Basis, Part, Wildcards
from captionlab.workflow.blocks import (
    OF_REFERENCES,
    Block,
    captioner_kind,
    line_of,
    normalise,
)
from captionlab.workflow.scoring import Scoring
from captionlab.workflow.study import Study

# The split that captioners learn.
TRAINING = "train"
# The table of a captioner that says what a training by a reward did to that reward.
REWARDS = "rewards.parquet"


class Validity(Part):
    """The validity that a config asks for."""

    def __init__(self, basis: Basis, scoring: Scoring, study: Study):
        super().__init__(basis, "validity")
        self.scoring, self.study = scoring, study

    def humans(self) -> list[str]:
        """Captioners that are people."""
        return sorted(name for name, block in self.basis.captioners.items() if captioner_kind(block) == "human")

    def rewarding(self) -> list[str]:
        """Encoders that rewards ask, as retrievers or as scorers."""
        found = set()
        for captioner in self.basis.captioners:
            for reward in self.basis.rewards(captioner):
                scorer = self.scoring.scorers.get(reward.get("scorer", ""), {})
                found |= {reward.get("retriever"), scorer.get("encoder")}
        return sorted(found - {None})

    def learned(self) -> dict[str, str]:
        """Return, for each captioner that learned the references of a corpus here or in another run, the corpus.

        Corpora are left out whose evaluated images are training images.
        """
        return {
            name: block["corpus"]
            for name, block in sorted(self.basis.captioners.items())
            if (block.get("objective", {}).get("kind") in OF_REFERENCES or self._learned_elsewhere(block))
            and self.basis.evaluation_split(block["corpus"]) != TRAINING
        }

    def toyworld(self) -> list[str]:
        """Corpora of the toy world."""
        return sorted(name for name, block in self.basis.corpora.items() if block["reader"] == "toyworld")

    def captions(self) -> list[str]:
        """Return the captions, for every evaluation, by captioners that are trained here or were in another run."""
        return [
            paths.captions(captioner, name)
            for name, evaluation in self._evaluations()
            for captioner in sorted(evaluation["captioners"])
            if captioner_kind(block := self.basis.captioners[captioner]) in ("pretrained", "finetuned")
            or "run" in block
        ]

    def references(self) -> list[str]:
        """The references of all corpora."""
        names = sorted(self.basis.corpora.keys() - self.basis.config["judgements"].keys())
        return [paths.corpus("captions", name) for name in names if self.config]

    def objects(self) -> list[str]:
        """The objects of the corpora that captioners learned and are evaluated on."""
        learned, found = self.learned(), set()
        for _, evaluation in self._evaluations():
            of_captioners = {learned[name] for name in evaluation["captioners"] if name in learned}
            found |= of_captioners & {*evaluation["corpora"]}
        return [paths.corpus("objects", corpus) for corpus in sorted(found)]

    def matching(self) -> dict[str, str]:
        """Return, for each scorer of which it is known, the table that says how good the scorer is."""
        return self.scoring.matching() if self.config else {}

    def accuracy(self) -> list[str]:
        """How often participants of the study are right: people, simulated ones or both."""
        return self.study.tables("accuracy") if self.config else []

    # -------------------------------------------------------------------------------- trainings by a reward
    def rewarded(self) -> list[str]:
        """Return the captioners of evaluations, and their ancestors, that are finetuned by a reward."""
        found = {
            training_of(ancestor)
            for _, evaluation in self._evaluations()
            for captioner in evaluation["captioners"]
            for ancestor in line_of(self.basis.config, captioner)
        }
        return sorted(name for name in found if self.basis.rewards(name))

    def rewards(self) -> list[str]:
        """Return the tables of rewards before and after these trainings."""
        return [paths.captioner(REWARDS, name) for name in self.rewarded()]

    def trainings(self) -> dict[str, dict[str, str]]:
        """Return, for each of these captioners, its parent, the corpus of its training, and its reward in words."""
        found = {}
        for name in self.rewarded():
            parts = [reward for reward in self.basis.rewards(name) if "of" not in reward]
            words = [" ".join(filter(None, (one["kind"], one.get("retriever", one.get("scorer"))))) for one in parts]
            block = self.basis.captioners[name]
            found[name] = {"parent": block["parent"], "corpus": block["corpus"], "reward": ", ".join(words)}
        return found

    def reward(self, wildcards: Wildcards) -> Block:
        """Return the reward that the captioner of a job is trained by."""
        reward: Block = normalise(self.basis.captioners[wildcards.captioner]["objective"]["reward"])
        return reward

    def batch(self, wildcards: Wildcards) -> int:
        """Return how many images a batch has in the training of the captioner of a job."""
        return int(self.basis.captioners[wildcards.captioner]["optimizer"]["batch"])

    def greedy(self, wildcards: Wildcards) -> Block:
        """Return what greedy decoding shares with the decoding of the training, such as where a caption ends."""
        decoding = self.basis.decoding(self.basis.captioners[wildcards.captioner]["objective"]["decoding"])
        shared = ("max_tokens", "repetition_penalty", "rules", "stop")
        return {key: decoding[key] for key in shared if key in decoding}

    def _evaluations(self) -> list[tuple[str, Block]]:
        """Those of the config, if anybody asks; sets of judgements are none."""
        judged, every = self.basis.config["judgements"], sorted(self.basis.evaluations.items())
        return [(name, block) for name, block in every if name not in judged] if self.config else []

    def _learned_elsewhere(self, captioner: Block) -> bool:
        """Return whether a captioner of another run learned references there, of the corpus that the config names.

        A training by a reward is none of these. Of weights that were imported there nothing is known, so they count.
        """
        if "run" not in captioner or "corpus" not in captioner:
            return False
        origin = json.loads(self.basis.located(captioner["config"]).read_text(encoding="utf-8")).get("origin", {})
        return origin.get("config", {}).get("objective", {}).get("kind") in (None, *OF_REFERENCES)
