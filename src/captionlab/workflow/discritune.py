"""What the discritune paper's part of the config asks for: its tables and figures."""

from typing import TYPE_CHECKING

from captionlab.workflow.references import Block

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

    def table_files(self, *formats: str) -> list[str]:
        """Every file of these tables."""
        return [f"results/reporting/discritune/{name}.{ending}" for name in self.tables() for ending in formats]
