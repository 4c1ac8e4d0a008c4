"""What the discritune paper's part of the config asks for: its tables and figures."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from captionlab import paths
from captionlab.reporting.render import FORMATS
from captionlab.workflow.blocks import Block, normalise, plain_rewards
from captionlab.workflow.probing_references import listed

if TYPE_CHECKING:
    from captionlab.workflow.experiments import Experiments

# Tables that are always made, and those that are made when the config has such a captioner or corpus of the paper.
ALWAYS = ("discritune_table1_retrieval", "discritune_table2_in_domain", "discritune_table3_cross_domain")
FOR_CAPTIONERS = {
    "discritune_table4_blip_retrieval": ("BLIP", "DiscriTune-BLIP"),
    "discritune_table5_blip": ("BLIP", "DiscriTune-BLIP"),
    "discritune_table10_camel": ("CaMEL", "DiscriTune-CaMEL"),
}
FOR_CORPORA = {"discritune_table11_lookalikes": ("ImageCoDe",)}
FOR_ABLATIONS = {
    "baselines": ("discritune_table8_baselines",),
    "rewards": ("discritune_table9_rewards",),
    "hard-distractors": ("discritune_table12_hard_distractors", "discritune_table13_hard_distractors"),
    "retrievers": ("discritune_retrievers",),
    "divergence": ("discritune_divergence",),
}
FIGURES = ("discritune_retrieval", "discritune_finetuning")


class Discritune:
    """The block `papers.discritune`."""

    def __init__(self, lab: "Experiments"):
        self.lab = lab
        self.block: Block = lab.papers.get("discritune", {})

    def tables(self) -> list[str]:
        """Names of the paper's tables that the config asks for."""
        if not self.block:
            return []
        asked = [
            name
            for section, tables in (("captioners", FOR_CAPTIONERS), ("corpora", FOR_CORPORA))
            for name, labels in tables.items()
            if any(label in self.block[section] for label in labels)
        ]
        return [*ALWAYS, *asked]

    def figures(self) -> list[str]:
        """Names of the paper's figures that the config asks for."""
        return list(FIGURES) if self.block else []

    def table_files(self) -> list[str]:
        """Every file of these tables."""
        return [paths.reporting(f"discritune/{name}.{ending}") for name in self.tables() for ending in FORMATS]

    def compared(self, table: str) -> list[str]:
        """A table of the evaluation stage for each captioner in each of the paper's evaluations."""
        wanted = {paths.evaluation(table, captioner, of) for captioner, of in self._evaluated()}
        return sorted(wanted & set(self.lab.scored(table)))

    def compared_captions(self) -> list[str]:
        """The captions that these tables score."""
        places = [paths.captioner_of(path) for path in self.compared("nlg")]
        return [paths.captions(captioner, evaluation) for captioner, evaluation in places]

    def spoken(self, table: Callable[[str, str], str]) -> list[str]:
        """A table for each captioner of the paper and the one of the paper that it is finetuned from.

        Evaluations are those of `language.fluency`, of which one counts where it has both captioners.
        """
        found, of_paper = [], set(self.block.get("captioners", {}).values())
        for evaluation in self.lab.language.fluency():
            studied = of_paper & set(self.lab.evaluations[evaluation]["captioners"])
            parents = {name: self.lab.captioners[name].get("parent") for name in studied}
            paired = {one for name, parent in parents.items() if parent in studied for one in (name, parent)}
            found += [table(name, evaluation) for name in sorted(paired)]
        return found

    def differences(self) -> list[str]:
        """The table that claims about several captioners or corpora are judged by."""
        return [paths.reporting("discritune/differences.parquet")] if self.block else []

    def _evaluated(self) -> set[tuple[str, str]]:
        """Each captioner of the paper with each evaluation on a corpus of the paper that its tables show."""
        captioners, corpora = (set(self.block.get(key, {}).values()) for key in ("captioners", "corpora"))
        shown = {
            name: self.lab.evaluations[name]
            for name in self.block.get("evaluations", self.lab.evaluations)
            if corpora & set(self.lab.evaluations[name]["corpora"])
        }
        return {(name, of) for of, evaluation in shown.items() for name in captioners & set(evaluation["captioners"])}

    # -------------------------------------------------------------------------------------------- ablations
    def ablations(self) -> Block:
        """For each ablation its evaluation, corpora, reference, captioners by label, and who rewarded them."""
        return {
            name: {
                "evaluation": ablation["evaluation"],
                "corpora": sorted(set(ablation["corpora"].values())),
                "reference": ablation["reference"],
                "captioners": {label: listed(names) for label, names in sorted(ablation["captioners"].items())},
                "rewards": {
                    label: sorted({retriever for name in listed(names) for retriever in self._rewarding(name)})
                    for label, names in sorted(ablation["captioners"].items())
                },
            }
            for name, ablation in sorted(self.block.get("ablations", {}).items())
        }

    def ablation_block(self) -> Block:
        """What the tables of ablations depend on: the config's section, and whether numbers can be compared."""
        return normalise({name: self.block[name] for name in ("comparable", "ablations") if name in self.block})

    def ablated(self, table: str) -> list[str]:
        """A table of the evaluation stage for each captioner of an ablation."""
        wanted = {paths.evaluation(table, captioner, of) for captioner, of in self._ablated()}
        return sorted(wanted & set(self.lab.scored(table)))

    def ablated_captions(self) -> list[str]:
        """Captions of each captioner of an ablation."""
        return sorted(paths.captions(captioner, of) for captioner, of in self._ablated())

    def ablation_retrievers(self) -> Block:
        """For each ablation the retrievers of its evaluation in the config's order, and by label who gave rewards."""
        return {
            name: {"judges": self.lab.evaluations[of["evaluation"]]["retrievers"], "rewards": of["rewards"]}
            for name, of in self.ablations().items()
        }

    def ablation_tables(self) -> list[str]:
        """Names of the tables of ablations that the config asks for."""
        return [table for name, tables in FOR_ABLATIONS.items() if name in self.ablations() for table in tables]

    def ablation_files(self) -> list[str]:
        """Every file of these tables."""
        return [paths.reporting(f"discritune/{name}.{ending}") for name in self.ablation_tables() for ending in FORMATS]

    def ablation_differences(self) -> list[str]:
        """The table that claims about ablations are judged by; nothing when the config has no ablations."""
        return [paths.reporting("discritune/ablation_differences.parquet")] if self.ablations() else []

    def _ablated(self) -> set[tuple[str, str]]:
        """Each captioner of an ablation with the evaluation that it is compared in."""
        return {
            (name, ablation["evaluation"])
            for ablation in self.ablations().values()
            for names in ablation["captioners"].values()
            for name in names
        }

    def _rewarding(self, captioner: str) -> set[str]:
        objective = self.lab.captioners[captioner].get("objective", {})
        if "reward" not in objective:
            return set()
        return {str(reward["retriever"]) for _, reward in plain_rewards(objective["reward"]) if "retriever" in reward}
