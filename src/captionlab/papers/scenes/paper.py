"""The block `papers.scenes` of a config: comparisons of the results of the section `scene_analysis`."""

from collections.abc import Iterator
from typing import Any

from captionlab import paths
from captionlab.reporting.paper import Block, Needs, Paper
from captionlab.roles import PRETRAINED, ROLES

TABLES = (
    "table1_metrics", "table2_overlap", "table3_objects", "table4_probes", "table5_samples", "table6_classifiers",
    "table7_splits", "table8_examples", "figure4_attention", "figure5_examples", "figure6_ablation", "figure9_classes",
    "figure10_special_tokens", "object_probes",
)  # fmt: skip
FIGURES = {
    "figure2_captions": "2: captions before and after",
    "figure3_attention": "3: attention matrices",
    "figure4_attention_density": "4: spread of attention",
    "figure5_examples": "5: captions that change",
    "figure6_confidence": "6 and 7: confidence after ablation, and its shift",
    "figure8_classes": "8: images of scenes",
    "figure9_probes": "9: probes, most difficult split",
    "figure10_special_tokens": "10: attention to special tokens",
    "figure11_layers": "11: attention in three layers",
    "figure12_splits": "12: confidence by split",
    "figure13_probes": "13: probes, easiest split",
}


class Scenes(Paper):
    """Cafagna et al. 2022."""

    name = "scenes"
    every_table, every_figure = TABLES, FIGURES
    citation = (
        "Cafagna et al. 2022, *Understanding Cross-modal Interactions in V&L Models that Generate Scene Descriptions*"
    )

    def summarised(self) -> Needs | None:
        """Return the inputs of the measurements: metrics of scene captions, and every table of both captioners."""
        if not self.block:
            return None
        return Needs(
            {
                **{name: paths.reporting(f"{name}.parquet") for name in ("summary", "comparisons")},
                **{table: self._of_roles("attention", table) for table in ("blocks", "shares")},
                "captions": self._of_roles("ablation", "captions"),
                **{table: self._of_roles("probes", table) for table in ("scores", "objects")},
                **{name: paths.attention(name) for name in ("differences", "rankings", "overlaps", "correlations")},
                "effects": paths.ablation("effects"),
            },
            self._params(),
            ("numpy", "scipy"),
        )

    def tabulated(self) -> Needs:
        """Return the inputs of the tables: values, differences, data on both captioners, images, and human captions."""
        inputs = {
            "attention": paths.attention("differences"),
            **{table: paths.attention(table) for table in ("overlaps", "correlations")},
            **{table: paths.ablation(table) for table in ("pmi", "coverage", "splits")},
        }
        return Needs(self._shown(inputs), self._params(), ("numpy", "scipy"))

    def plotted(self) -> Needs:
        """Return the inputs of the figures: values and differences, data on both captioners, and attention."""
        inputs = {"densities": paths.attention("densities"), "blocks": self._of_roles("attention", "blocks")}
        return Needs(self._shown(inputs), self._params(), ("matplotlib", "numpy"), runtime=10)

    def compared(self) -> dict[str, str]:
        """Return the snapshots of the finetuning, each with the captioner at its end."""
        if not self.block:
            return {}
        end = self.lab.scene_analysis.config["finetuned"]
        of_paper = {name for label, name in self.block["captioners"].items() if label != PRETRAINED}
        return {name: end for name in sorted(of_paper - {end})}

    # ------------------------------------------------------------------------------------------------ parts
    def _of_roles(self, stage: str, table: str) -> list[str]:
        """Return the paths of a table of a stage for each of the two captioners."""
        return [path for role in ROLES for path in self.lab.scene_analysis.of(role, stage, table)]

    def _shown(self, others: Block) -> Block:
        """Return the inputs of tables and figures: `others`, values, differences, captions, images, human captions."""
        return {
            **{table: self.measured(table) for table in ("values", "differences")},
            **others,
            "captions": self._of_roles("ablation", "captions"),
            "matrices": self._of_roles("attention", "matrices"),
            "encodings": self.lab.scene_analysis.of(PRETRAINED, "probes", "encodings"),
            "images": self.lab.scene_analysis.table("images"),
            "training_images": [paths.corpus("images", self._training())],
            "object_captions": [paths.corpus("captions", self.block["object_captions"])],
            "scene_captions": self.lab.scene_analysis.labelling(),
        }

    def _params(self) -> dict[str, Any]:
        """Return the parameters of the paper's jobs: names of corpora, the test split, and labels of captioners."""
        (validation,) = self.lab.evaluations[self.block["evaluation"]]["corpora"]
        job = {
            "corpus": self.lab.scene_analysis.corpus(),
            "split": self.lab.scene_analysis.split(),
            "validation": validation,
            "training": self._training(),
            "evaluation": self.block["evaluation"],
            "labels": {name: label for label, name in sorted(self.block["captioners"].items())},
            "end": self.lab.scene_analysis.config["finetuned"],
            "layer": self.lab.scene_analysis.part("attention")["layer"],
        }
        return {"job": job, "seed": self.lab.scene_analysis.seed()}

    def _training(self) -> str:
        """Return the corpus of the finetuning; for an imported captioner, the corpus that is analysed."""
        finetuned = self.lab.captioners[self.lab.scene_analysis.config["finetuned"]]
        return str(finetuned.get("corpus", self.lab.scene_analysis.corpus()))

    # --------------------------------------------------------------------------------------------- mistakes
    @staticmethod
    def mistakes(config: Block, where: str, block: Block) -> Iterator[str]:
        """Yield a message if the evaluation has several corpora."""
        if len(config["evaluations"][block["evaluation"]]["corpora"]) != 1:
            yield f"{where}.evaluation is {block['evaluation']!r}, which has several corpora; Table 1 is about one"


PAPER = Scenes
