"""What the scenes paper's part of the config asks for, and whether it can be followed: roles, tables and figures."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from captionlab import paths
from captionlab.roles import PRETRAINED
from captionlab.workflow.blocks import Block
from captionlab.workflow.names import known

if TYPE_CHECKING:
    from captionlab.workflow.experiments import Experiments

SCENES_TABLES = (
    "scenes_table1_metrics",
    "scenes_table2_overlap",
    "scenes_table3_objects",
    "scenes_table4_probes",
    "scenes_table5_samples",
    "scenes_table6_classifiers",
    "scenes_table7_splits",
    "scenes_table8_examples",
    "scenes_figure4_attention",
    "scenes_figure5_examples",
    "scenes_figure6_ablation",
    "scenes_figure9_classes",
    "scenes_figure10_special_tokens",
    "scenes_object_probes",
)
SCENES_FIGURES = (
    "scenes_figure2_captions",
    "scenes_figure3_attention",
    "scenes_figure4_attention_density",
    "scenes_figure5_examples",
    "scenes_figure6_confidence",
    "scenes_figure7_confidence_shift",
    "scenes_figure8_classes",
    "scenes_figure9_probes",
    "scenes_figure10_special_tokens",
    "scenes_figure11_layers",
    "scenes_figure12_splits",
    "scenes_figure13_probes",
)


def scenes_paper_mistakes(config: Block) -> Iterator[str]:
    """One sentence for each reference that cannot be followed; the config must fit the schema."""
    paper, where = config.get("papers", {}).get("scenes"), "papers.scenes"
    if not paper:
        return
    if "scenes" not in config:
        yield f"{where} needs what is measured; add the section `scenes`"
    yield from known(config, "evaluations", paper["evaluation"], f"{where}.evaluation")
    yield from known(config, "corpora", paper["object_captions"], f"{where}.object_captions")
    evaluation = config["evaluations"].get(paper["evaluation"])
    if evaluation and len(evaluation["corpora"]) != 1:
        yield f"{where}.evaluation is {paper['evaluation']!r}, which has several corpora; Table 1 is about one"
    for label, name in paper["captioners"].items():
        yield from known(config, "captioners", name, f"{where}.captioners.{label}")
        if evaluation and name in config["captioners"] and name not in evaluation["captioners"]:
            yield (
                f"{where}.captioners.{label} is {name!r}, which is not in "
                f"evaluations.{paper['evaluation']}.captioners; add it there"
            )


class ScenesPaper:
    """The block `papers.scenes`. All is empty where the config does not ask for the paper."""

    def __init__(self, lab: "Experiments"):
        self.lab = lab
        self.block: Block = lab.papers.get("scenes", {})

    def of(self, role: str, stage: str, table: str) -> list[str]:
        """A table of a stage about the captioner in a role."""
        return self.lab.scenes.of(role, stage, table) if self.block else []

    def images(self) -> list[str]:
        """The table of the images of the corpus that is analysed."""
        return self.lab.scenes.table("images") if self.block else []

    def learnt(self) -> list[str]:
        """The table of the images of the corpus that the finetuned captioner learnt from."""
        return [paths.corpus("images", self._training())] if self.block else []

    def described(self) -> dict[str, list[str]]:
        """The tables of what people wrote of objects and of scenes."""
        if not self.block:
            return {"objects": [], "scenes": []}
        objects = paths.corpus("captions", self.block["object_captions"])
        return {"objects": [objects], "scenes": self.lab.scenes.labelling()}

    def job(self) -> dict[str, Any]:
        """What is compared: names of corpora, the split that is tested on, and labels of captioners by name."""
        if not self.block:
            return {}
        (validation,) = self.lab.evaluations[self.block["evaluation"]]["corpora"]
        return {
            "corpus": self.lab.scenes.corpus(),
            "split": self.lab.scenes.split(),
            "validation": validation,
            "training": self._training(),
            "evaluation": self.block["evaluation"],
            "labels": {name: label for label, name in sorted(self.block["captioners"].items())},
            "end": self.lab.scenes.config["finetuned"],
            "layer": self.lab.scenes.part("attention")["layer"],
        }

    def ends(self) -> dict[str, str]:
        """For each captioner that is stopped before the end of the finetuning the one that is not."""
        if not self.block:
            return {}
        end = self.lab.scenes.config["finetuned"]
        of_paper = {name for label, name in self.block["captioners"].items() if label != PRETRAINED}
        return {name: end for name in sorted(of_paper - {end})}

    def differences(self) -> list[str]:
        """The table that the paper's claims are judged by."""
        return [paths.reporting("scenes/differences.parquet")] if self.block else []

    def _training(self) -> str:
        """The corpus that the finetuned captioner learnt from; one that came from elsewhere counts as of the same."""
        finetuned = self.lab.captioners[self.lab.scenes.config["finetuned"]]
        return str(finetuned.get("corpus", self.lab.scenes.corpus()))

    def tables(self) -> list[str]:
        """Names of the paper's tables that the config asks for."""
        return list(SCENES_TABLES) if self.block else []

    def figures(self) -> list[str]:
        """Names of the paper's figures that the config asks for."""
        return list(SCENES_FIGURES) if self.block else []
