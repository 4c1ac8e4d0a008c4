"""The block `papers.discritune` of a config, with the study and the analysis of language that the paper uses."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

from captionlab import paths
from captionlab.papers.discritune.layouts import ASSOCIATIONS, LAYOUTS, associations_name
from captionlab.reporting.paper import Block, Figure, Needs, Paper, listed


class Discritune(Paper):
    """Dessì et al. 2023."""

    name = "discritune"
    citation = "Dessì et al. 2023, *Cross-Domain Image Captioning with Discriminative Finetuning*"

    def tables(self) -> list[str]:
        """Return the names of the tables of the block, its variants, the study and the analysis of language."""
        names = [layout.name for layout in LAYOUTS if self.block and layout.is_asked(self.block)]
        names += [f"table6_{who}" for who in self.lab.study.participants()]
        names += [associations_name(tag) for tag in ASSOCIATIONS if self.lab.language.config]
        return [f"discritune_{name}" for name in names]

    def figures(self) -> dict[str, Figure]:
        """Return the figures of the block and of the study."""
        found = {one: Figure(one, one) for one in ("retrieval", "finetuning") if self.block}
        for who in self.lab.study.participants():
            found[f"figure2_{who}"] = Figure(f"examples of the study, {who}", "figure2")
        if self.lab.study.config:
            found["figure3_screen"] = Figure("a screen of the study", "figure3")
        return {f"discritune_{name}": figure for name, figure in found.items()}

    def summarised(self) -> Needs | None:
        """Return the inputs of the measurements: scores for comparisons of captioners or corpora, and of variants."""
        if not self.block:
            return None
        variants = self._variants()
        places = {
            (name, of["evaluation"])
            for of in variants.values()
            for names in of["captioners"].values()
            for name in names
        }
        corpora, named = set(self.block["corpora"].values()), self.block["captioners"].values()
        captioners = {one for name in named for one in self.lab.trainings.get(name, [name])}
        shown = {name: self.lab.evaluations[name] for name in self.block.get("evaluations", self.lab.evaluations)}
        evaluated = {
            (captioner, name)
            for name, of in shown.items()
            for captioner in captioners & {*of["captioners"]}
            if corpora & {*of["corpora"]}
        }
        scored = {table: self._scored(table, evaluated) for table in ("nlg", "spice")}
        varied = {f"variant_{table}": self._scored(table, places) for table in ("nlg", "spice", "retrieval")}
        return Needs(
            {
                "captions": [paths.captions(*place) for place in sorted(evaluated & {*self.lab.scored_places("nlg")})],
                **scored,
                "measures": self._spoken(partial(paths.language, "measures")),
                "tokens": self._spoken(partial(paths.evaluation, "tokens")),
                "tags": self.lab.language.measured("tags", self.lab.language.caption_types()),
                "variant_captions": sorted(paths.captions(*place) for place in places),
                **varied,
            },
            {
                # The part of the block that the measurements depend on. Whether numbers are comparable with the paper's
                # matters to tables only.
                "config": {**{key: self.block[key] for key in ("captioners", "corpora")}, "comparable": False},
                "evaluations": self.lab.evaluation_contexts(),
                "lineage": self.lab.lineage(),
                "trainings": self.lab.trainings,
                "variants": variants,
                "seed": self.lab.config["seed"],
            },
            ("numpy", "scipy"),
            runtime=60,
        )

    def tabulated(self) -> Needs:
        """Return the inputs of the tables: summary, answers of the study and associations, if the run has them."""
        participants = self.lab.study.participants()
        inputs: dict[str, str | list[str]] = {}
        if self.block:
            inputs["summary"] = paths.reporting("summary.parquet")
            inputs |= {table: self.measured(table) for table in ("values", "differences")}
        for who, table in product(participants, ("accuracy", "pairwise", "agreement", "participants")):
            inputs[f"{who}_{table}"] = paths.answers(table, who)
        if self.lab.language.config:
            inputs |= {"associations": paths.ASSOCIATIONS, "statistics": self.lab.language.measured("statistics")}
        params = {
            "lineage": self.lab.lineage(),
            # For each group of variants: the retrievers of its evaluation in the config's order, and the retrievers
            # that gave rewards.
            "retrievers": {
                name: {"retrievers": self.lab.evaluations[of["evaluation"]]["retrievers"], "rewards": of["rewards"]}
                for name, of in self._variants().items()
            },
            "participants": participants,
            "study_captioners": self.lab.study.captioners(),
            "study_corpus": self.lab.study.corpus(),
            "caption_types": self.lab.language.caption_types(),
        }
        return Needs(inputs, params, mem_mb=2000, runtime=10)

    def plotted(self) -> Needs:
        """Return the inputs of the figures: summary, logs of finetuning, and stimuli and answers of the study."""
        captioners = [name for _, name in sorted(self.block.get("captioners", {}).items())]  # by their labels
        finetuned = [name for name in captioners if "parent" in self.lab.captioners[name]]
        participants = self.lab.study.participants()
        inputs: dict[str, str | list[str]] = {}
        if self.block:
            inputs["summary"] = paths.reporting("summary.parquet")
        inputs["training"] = [paths.captioner("training.parquet", name) for name in finetuned]
        inputs["answers"] = [paths.answers("answers", who) for who in participants]
        if self.lab.study.config:
            inputs |= {"stimuli": paths.study("stimuli.parquet"), "images": self.lab.study.table("images")}
        params = {
            "finetuned": finetuned,
            "participants": participants,
            "people": self.lab.study.people(),
            "parents": self.lab.study.parents(),
            "rewarding": sorted({one["retriever"] for name in finetuned for one in self._rewarded(name)}),
        }
        return Needs(inputs, params, ("matplotlib",), 2000, 10)

    def judged(self) -> Needs:
        """Return the inputs of the evidence: values and comparisons of captioners, differences, and human answers."""
        tables = ("accuracy", "pairwise") if "people" in self.lab.study.participants() else ()
        return Needs(
            {
                **{name: paths.reporting(f"{name}.parquet") for name in ("summary", "comparisons")},
                "differences": self.measured("differences"),
                **{f"study_{name}": [paths.answers(name, "people")] for name in tables},
            },
            {"lineage": self.lab.lineage()},
        )

    # ------------------------------------------------------------------------------------------- captioners
    def _scored(self, table: str, places: set[tuple[str, str]]) -> list[str]:
        """Return the tables of scores of `places`, pairs (captioner, evaluation), as far as they exist."""
        return sorted({paths.scores(table, *place) for place in places & {*self.lab.scored_places(table)}})

    def _spoken(self, table: Callable[[str, str], str]) -> list[str]:
        """Return the tables of the paper's captioners whose parent is also in the paper, and of the parents.

        Only evaluations of `language.fluency` that contain both captioners are used.
        """
        named = self.block["captioners"].values()
        found, of_paper = [], {one for name in named for one in self.lab.trainings.get(name, [name])}
        for evaluation in self.lab.language.fluency():
            studied = of_paper & set(self.lab.evaluations[evaluation]["captioners"])
            parents = {name: self.lab.captioners[name].get("parent") for name in studied}
            paired = {one for name, parent in parents.items() if parent in studied for one in (name, parent)}
            found += [table(name, evaluation) for name in sorted(paired)]
        return found

    def _rewarded(self, name: str) -> list[Block]:
        """Return the rewards of a captioner that use a retriever."""
        return [reward for reward in self.lab.rewards(name) if "retriever" in reward]

    # -------------------------------------------------------------------------------------------- variants
    def _variants(self) -> Block:
        """Return for each group of variants its evaluation, corpora, reference, captioners and rewarding retrievers."""
        found = {}
        for group, variants in sorted(self.block.get("variants", {}).items()):
            captioners = {label: listed(names) for label, names in sorted(variants["captioners"].items())}
            rewards = {
                label: [reward for name in names for reward in self._rewarded(name)]
                for label, names in captioners.items()
            }
            found[group] = {
                "evaluation": variants["evaluation"],
                "corpora": sorted(set(variants["corpora"].values())),
                "reference": variants["reference"],
                "captioners": captioners,
                "rewards": {label: sorted({str(one["retriever"]) for one in of}) for label, of in rewards.items()},
            }
        return found

    # --------------------------------------------------------------------------------------------- mistakes
    @staticmethod
    def mistakes(config: Block, where: str, block: Block) -> Iterator[str]:
        """Yield messages on captioners without an evaluation, captions in several, and variants that do not match."""
        evaluated = {name for evaluation in config["evaluations"].values() for name in evaluation["captioners"]}
        for label, name in block["captioners"].items():
            if name not in evaluated:
                yield f"{where}.captioners.{label} is {name!r}, which no evaluation names; add it to one"
        # A table shows one value in each place, so its evaluation must be unambiguous.
        shown = {name: config["evaluations"][name] for name in block.get("evaluations") or config["evaluations"]}
        for captioner, corpus in product(*(dict.fromkeys(block[key].values()) for key in ("captioners", "corpora"))):
            found = [n for n, e in shown.items() if captioner in e["captioners"] and corpus in e["corpora"]]
            if len(found) > 1:
                yield (
                    f"{where}: the captions of {captioner!r} on {corpus!r} are in the evaluations "
                    f"{' and '.join(found)}; name the one that its tables show under {where}.evaluations"
                )
                break
        for name, variants in block.get("variants", {}).items():
            yield from _variants_mistakes(config, f"{where}.variants.{name}", variants)


def _variants_mistakes(config: Block, where: str, variants: Block) -> Iterator[str]:
    if variants["reference"] not in variants["captioners"]:
        yield f"{where}.reference is {variants['reference']!r}, which is not among the labels of its captioners"
    seeds = {label: len(listed(names)) for label, names in variants["captioners"].items()}
    wanted = seeds.get(variants["reference"], 1)
    for label, number in seeds.items():
        if wanted > 1 and number not in (1, wanted):
            yield (
                f"{where}.captioners.{label} has {number} captioners and the reference {wanted}; they are compared "
                "seed by seed, so name as many, or one"
            )
    if not config["evaluations"][variants["evaluation"]]["retrievers"]:
        yield f"evaluations.{variants['evaluation']} needs `retrievers`: {where} is about what they find"


PAPER = Discritune
