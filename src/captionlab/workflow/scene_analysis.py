"""The analysis of scenes that a config declares: what its jobs read, and what these depend on. All is empty without."""

from captionlab import paths
from captionlab.roles import ROLES
from captionlab.workflow.basis import CAPTIONER, Basis, Loaded, Part, Wildcards
from captionlab.workflow.blocks import Block, any_of, normalise
from captionlab.workflow.regions import Regions


class SceneAnalysis(Part):
    """The analysis of scenes of a config."""

    def __init__(self, basis: Basis, regions: Regions):
        super().__init__(basis, "scene_analysis")
        self.regions = regions

    def part(self, name: str, *keys: str) -> Block:
        """A part of the block, or some keys of it; nothing where there is no analysis."""
        return normalise({key: value for key, value in self.config.get(name, {}).items() if not keys or key in keys})

    def splits(self) -> list[str]:
        """Splits of the corpus whose images are ablated and probed; attention is that of the evaluation split."""
        return list(self.config.get("splits", [self.split()])) if self.config else []

    def decoding(self) -> Block:
        """The decoding of captions, spelled out."""
        return self.basis.decoding(self.config["decoding"]) if self.config else {}

    def seed(self) -> int:
        """Seed of all that is drawn."""
        return int((self.config or self.basis.config)["seed"])

    def captioners(self) -> str:
        """Regular expression of the captioners that are analysed."""
        return any_of(self.config[role] for role in ROLES if role in self.config)

    def labelling(self) -> list[str]:
        """The table of the corpus whose captions say which scene an image depicts."""
        return self.table(self.part("labels")["table"]) if self.config else []

    def features(self, wildcards: Wildcards) -> list[str]:
        """Tables of regions and tags of the corpus that a captioner reads."""
        return self.regions.captioner_tables(wildcards.captioner, self.config["corpus"])

    def shared_features(self) -> list[str]:
        """The same of the pretrained captioner, which are also the finetuned one's."""
        return self.regions.captioner_tables(self.config["pretrained"], self.config["corpus"]) if self.config else []

    def model(self) -> list[str]:
        """The files of the pretrained captioner."""
        if not self.config:
            return []
        own = [paths.captioner(file, self.config["pretrained"]) for file in CAPTIONER.values()]
        return [*own, *self.basis.ancestor_files(self.config["pretrained"])]

    def of(self, role: str, stage: str, table: str) -> list[str]:
        """A table of a stage about the captioner in a role."""
        return [paths.of_captioner(stage, table, self.config[role])] if self.config else []

    def results(self) -> list[str]:
        """The tables at the end of the analysis."""
        if not self.config:
            return []
        attention = map(paths.attention, ("densities", "differences", "rankings", "overlaps", "correlations"))
        ablation = map(paths.ablation, ("coverage", "effects", "splits"))
        return [*attention, *ablation, *(path for role in ROLES for path in self.of(role, "probes", "scores"))]

    def searches(self) -> list[str]:
        """The settings that were tried for the neural probe of each captioner."""
        return [path for role in ROLES for path in self.of(role, "probes", "search")]

    def role(self, wildcards: Wildcards) -> str:
        """Whether a captioner is the pretrained or the finetuned one."""
        return next(role for role in ROLES if self.config[role] == wildcards.captioner)

    def loaded(self) -> Loaded:
        """What a script loads that uses these captioners."""
        return self.basis.loaded_captioners(*(self.config[role] for role in ROLES if self.config))
