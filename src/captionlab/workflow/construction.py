"""Captioners of the family `constructed`: what the job reads that constructs their captions."""

from captionlab import paths
from captionlab.workflow.basis import Basis, Wildcards
from captionlab.workflow.blocks import Block, normalise


class Construction:
    """The constructed captions of a config."""

    def __init__(self, basis: Basis):
        self.basis = basis

    def captions(self, wildcards: Wildcards) -> str:
        """Captions that others are constructed of."""
        return paths.captions(self._block(wildcards)["captions_of"], wildcards.evaluation)

    def tags(self, wildcards: Wildcards) -> str:
        """The same, tagged."""
        return paths.language("tags", self._block(wildcards)["captions_of"], wildcards.evaluation)

    def mined_models(self, wildcards: Wildcards) -> list[str]:
        """Names of the templates that are found in captions."""
        return sorted(self._block(wildcards).get("mined_from", {}))

    def mined_tags(self, wildcards: Wildcards) -> list[str]:
        """Tagged captions that these are found in, one table for each."""
        captioners = self._block(wildcards).get("mined_from", {})
        return [paths.language("tags", captioners[m], wildcards.evaluation) for m in self.mined_models(wildcards)]

    def block(self, wildcards: Wildcards) -> Block:
        """What constructed captions depend on, the captioners aside."""
        block, kept = self._block(wildcards), ("replacements", "templates", "nouns")
        return normalise({name: block[name] for name in kept if name in block})

    def _block(self, wildcards: Wildcards) -> Block:
        return dict(self.basis.captioners[wildcards.captioner])
