"""The part of the config that asks whether a run is valid: what that table reads. All is empty where nobody asks."""

from captionlab import paths
from captionlab.workflow.basis import Basis, Part
from captionlab.workflow.blocks import OF_REFERENCES, Block, captioner_kind
from captionlab.workflow.scoring import Scoring
from captionlab.workflow.study import Study


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
        """For each captioner that learned the references of a corpus here, the corpus."""
        return {
            name: block["corpus"]
            for name, block in sorted(self.basis.captioners.items())
            if block.get("objective", {}).get("kind") in OF_REFERENCES
        }

    def toyworld(self) -> list[str]:
        """Corpora of the toy world."""
        return sorted(name for name, block in self.basis.corpora.items() if block["reader"] == "toyworld")

    def captions(self) -> list[str]:
        """Captions by captioners that are trained here, for every evaluation."""
        return [
            paths.captions(captioner, name)
            for name, evaluation in self._evaluations()
            for captioner in sorted(evaluation["captioners"])
            if captioner_kind(self.basis.captioners[captioner]) in ("pretrained", "finetuned")
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

    def matching(self) -> list[str]:
        """How good the scorers are that are trained here."""
        return [paths.scorer("matching.parquet", name) for name in self.scoring.trained() if self.config]

    def accuracy(self) -> list[str]:
        """How often participants of the study are right: people, simulated ones or both."""
        return self.study.tables("accuracy") if self.config else []

    def _evaluations(self) -> list[tuple[str, Block]]:
        """Those of the config, if anybody asks; sets of judgements are none."""
        judged, every = self.basis.config["judgements"], sorted(self.basis.evaluations.items())
        return [(name, block) for name, block in every if name not in judged] if self.config else []
