"""What the probing paper's part of the config asks for: constructed captions, roles, scorers, tables and figures."""

from typing import TYPE_CHECKING, Any

from captionlab import paths
from captionlab.workflow.blocks import Block, normalise, scorer_kind
from captionlab.workflow.probing_references import listed, reward_scorers

if TYPE_CHECKING:
    from captionlab.workflow.experiments import Experiments, Wildcards

PROBING_TABLES = (
    "probing_table1_choices",
    "probing_table2_scores",
    "probing_table3_examples",
    "probing_table4_statistics",
    "probing_table5_patterns",
    "probing_table6_constructed",
    "probing_table7_templates",
    "probing_figure1_patterns",
    "probing_figure2_replacements",
    "probing_figure3_visual_words",
    "probing_figure4_unigrams",
    "probing_figure4_words",
    "probing_rewards",
    "probing_generalisation",
    "probing_matching",
)
PROBING_FIGURES = (
    "probing_figure1_patterns",
    "probing_figure2_replacements",
    "probing_figure3_visual_words",
    "probing_figure4_unigrams",
)
# Printed are per cent; a scorer with at least this scale gives them already.
PER_CENT = 100.0


class Probing:
    """The block `papers.probing` and the captioners of the family `constructed`."""

    def __init__(self, experiments: "Experiments"):
        self.lab = experiments
        self.block: Block = experiments.papers.get("probing", {})

    # -------------------------------------------------------------------------------- constructed captions
    def _constructed(self, wildcards: "Wildcards") -> Block:
        block: Block = self.lab.captioners[wildcards.captioner]
        return block

    def original_captions(self, wildcards: "Wildcards") -> str:
        """Captions that others are constructed of."""
        return paths.captions(self._constructed(wildcards)["captions_of"], wildcards.evaluation)

    def original_tags(self, wildcards: "Wildcards") -> str:
        """The same, tagged."""
        return self._tags(self._constructed(wildcards)["captions_of"], wildcards.evaluation)

    def mined_models(self, wildcards: "Wildcards") -> list[str]:
        """Names of the templates that are found in captions."""
        return sorted(self._constructed(wildcards).get("mined_from", {}))

    def mined_tags(self, wildcards: "Wildcards") -> list[str]:
        """Tagged captions that these are found in, one table for each."""
        captioners = self._constructed(wildcards).get("mined_from", {})
        return [self._tags(captioners[model], wildcards.evaluation) for model in self.mined_models(wildcards)]

    def construction_block(self, wildcards: "Wildcards") -> Block:
        """What constructed captions depend on, the captioners aside."""
        block = self._constructed(wildcards)
        kept = ("replacements", "templates", "nouns")
        return normalise({name: block[name] for name in kept if name in block})

    def _tags(self, captioner: str, evaluation: str) -> str:
        return paths.language("tags", captioner, evaluation)

    # ------------------------------------------------------------------------------- roles and their tables
    @property
    def evaluation(self) -> str:
        """The evaluation that the paper's numbers come from."""
        return str(self.block["evaluation"])

    def roles(self) -> dict[str, list[str]]:
        """Captioners of each role, by the paper's label; several are seeds."""
        return {label: listed(names) for label, names in sorted(self.block.get("captioners", {}).items())}

    def captioners(self) -> list[str]:
        """All captioners of roles."""
        return sorted({name for names in self.roles().values() for name in names})

    def constructed(self) -> list[str]:
        """Captioners of the family `constructed` whose captions are studied."""
        return listed(self.block.get("constructed", []))

    def originals(self) -> list[str]:
        """For each of these the captioner that its captions are made of."""
        return [self.lab.captioners[name]["captions_of"] for name in self.constructed()]

    def first_captioners(self) -> list[str]:
        """The first captioner of each role, in their order: examples and patterns are those of one training."""
        return [names[0] for names in self.roles().values()]

    def scored(self, table: str, captioners: list[str] | None = None) -> list[str]:
        """A table of the evaluation stage for each captioner of a role, or each of these."""
        names = self.captioners() if captioners is None else captioners
        return [paths.evaluation(table, name, self.evaluation) for name in names]

    def spice(self) -> list[str]:
        """SPICE of each captioner of a role; nothing when the config goes without."""
        return [] if self.lab.spice == "off" else self.scored("spice")

    def language(self, table: str, captioners: list[str] | None = None) -> list[str]:
        """A table of the language stage for each captioner of a role, or each of these."""
        names = self.captioners() if captioners is None else captioners
        return [paths.language(table, name, self.evaluation) for name in names]

    def captions(self, captioners: list[str]) -> list[str]:
        """Captions of each of these captioners."""
        return [paths.captions(name, self.evaluation) for name in captioners]

    def corpora(self) -> list[str]:
        """Corpora of the paper."""
        return sorted(set(self.block.get("corpora", {}).values()))

    def corpus_tables(self, table: str) -> list[str]:
        """A table of each of these corpora."""
        return [paths.corpus(table, corpus) for corpus in self.corpora()]

    def factors(self) -> dict[str, float]:
        """For each scorer of the config the factor that puts its scores into per cent."""
        return {name: _factor(block) for name, block in sorted(self.lab.config.get("scorers", {}).items())}

    def scorers(self) -> dict[str, dict[str, Any]]:
        """For the name of each of the paper's scorers its label, and that factor."""
        labels = {name: label for label, name in self.block.get("scorers", {}).items()}
        return {name: {"label": labels[name], "factor": self.factors()[name]} for name in sorted(labels)}

    def rewards(self) -> dict[str, list[str]]:
        """For each role the labels of the scorers that rewarded it."""
        labels = {name: label for label, name in self.block.get("scorers", {}).items()}
        return {
            label: sorted({labels[scorer] for name in names for scorer in self._scorers_of(name) if scorer in labels})
            for label, names in self.roles().items()
        }

    def objectives(self) -> dict[str, Block]:
        """For each role what its first captioner was finetuned by; nothing when it was not."""
        return {
            label: normalise(self.lab.captioners[names[0]].get("objective", {}))
            for label, names in self.roles().items()
        }

    def parents(self) -> dict[str, str | None]:
        """For each captioner of the config its parent."""
        return {name: block.get("parent") for name, block in sorted(self.lab.captioners.items())}

    def job(self) -> Block:
        """The evaluation, the name of its decoding and the split of each of its corpora."""
        if not self.block:
            return {}
        context: Block = self.lab.evaluation_contexts()[self.evaluation]
        return {"evaluation": self.evaluation, **context}

    def trained_scorers(self) -> list[str]:
        """The paper's scorers that are trained here, by name."""
        return [name for name in self.scorers() if scorer_kind(self.lab.config["scorers"][name]) == "trained"]

    def matching(self) -> list[str]:
        """How well each of these tells pairs from strangers."""
        return [paths.scorer("matching.parquet", name) for name in self.trained_scorers()]

    def _scorers_of(self, captioner: str) -> list[str]:
        return reward_scorers(self.lab.captioners[captioner].get("objective", {}).get("reward", {}))

    def differences(self) -> list[str]:
        """The table that the paper's claims are judged by; nothing when the config does not ask for the paper."""
        return [paths.reporting("probing/differences.parquet")] if self.block else []

    def tables(self) -> list[str]:
        """Names of the paper's tables that the config asks for."""
        return list(PROBING_TABLES) if self.block else []

    def figures(self) -> list[str]:
        """Names of the paper's figures that the config asks for."""
        return list(PROBING_FIGURES) if self.block else []


def _factor(scorer: Block) -> float:
    """A probability and a cosine become per cent, by the default of CLIP's family they are already."""
    scale = float(scorer.get("scale", PER_CENT if scorer["family"] == "clip" else 1.0))
    return 1.0 if scale >= PER_CENT else PER_CENT
