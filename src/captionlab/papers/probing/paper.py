"""The block `papers.probing` of a config: roles, scorers and constructed captions."""

from typing import Any

from captionlab import paths
from captionlab.reporting.paper import Block, Needs, Paper, listed

# The role that all others are compared with: the captioner that was trained by cross-entropy alone.
REFERENCE = "CE"
# The paper's scorers in its order, which is also the order of the captions (b) to (f) in Table 1.
MODELS = ("UNITER", "ROSITA", "ViLBERT", "CLIP", "LXMERT")
TABLES = (
    "table1_choices", "table2_scores", "table3_examples", "table4_statistics", "table5_patterns", "table6_constructed",
    "table7_templates", "figure1_patterns", "figure2_replacements", "figure3_visual_words", "figure4_unigrams",
    "figure4_words", "rewards", "generalisation", "matching",
)  # fmt: skip
FIGURES = {
    "figure1_patterns": "1: patterns",
    "figure2_replacements": "2: words replaced",
    "figure3_visual_words": "3: more visual words",
    "figure4_unigrams": "4: most frequent words",
}


class Probing(Paper):
    """Ma et al. 2022."""

    name = "probing"
    every_table, every_figure = TABLES, FIGURES
    citation = "Ma et al. 2022, *Probing Cross-modal Semantics Alignment Capability from the Textual Perspective*"

    def tables(self) -> list[str]:
        """Return the names of the paper's tables, and of the table of further metrics if these are computed."""
        return [*super().tables(), *(["probing_effects"] if self._metrics() else [])]

    def summarised(self) -> Needs | None:
        """Return the inputs of the measurements: scores and language tables of roles and of constructed captions."""
        if not self.block:
            return None
        captioners = sorted({name for names in self._roles().values() for name in names})
        made, originals = self._constructed()
        return Needs(
            {
                "captions": self._captions(captioners),
                "alignment": self._scored("alignment", captioners),
                "nlg": paths.nlg(self.block["evaluation"]),
                "spice": [] if self.lab.spice == "off" else self._scored("spice", captioners),
                **{f"metric_{table}": self._scored(table, captioners) for table in self._metrics()},
                **{table: self._language(table, captioners) for table in ("measures", "tags", "patterns")},
                "constructions": self._language("constructions", made),
                "constructed": self._scored("alignment", made),
                "originals": self._scored("alignment", originals),
            },
            {
                "job": self._job(),
                "captioners": captioners,
                "roles": self._roles(),
                "parents": self._parents(captioners),
                "rewards": self._rewards(),
                "rewarding_encoders": self._rewarding_encoders(),
                "scorers": self._scorers(),
                "metrics": self._metrics(),
                "seed": self.lab.config["seed"],
            },
            ("numpy", "scipy"),
            mem_mb=8000,
            runtime=60,
            modules=[f"captionlab.evaluation.metrics.{table}" for table in self._metrics()],
        )

    def tabulated(self) -> Needs:
        """Return the inputs of the tables: values, differences, captions of first trainings, constructed captions."""
        roles = self._roles()
        first, (made, originals) = [names[0] for names in roles.values()], self._constructed()
        matching = self.lab.scoring.matching()
        trained = [name for name in self._scorers() if name in matching]
        corpora = sorted(set(self.block["corpora"].values()))
        inputs = {
            **{table: self.measured(table) for table in ("values", "differences")},
            "captions": self._captions(first),
            "alignment": self._scored("alignment", first),
            **{table: self._language(table, first) for table in ("patterns", "unigrams")},
            "constructed": self._captions(made),
            "constructions": self._language("constructions", made),
            "constructed_alignment": self._scored("alignment", made),
            "originals": self._captions(originals),
            "original_alignment": self._scored("alignment", originals),
            "images": [paths.corpus("images", corpus) for corpus in corpora],
            "matching": [matching[name] for name in trained],
        }
        params = {
            "job": self._job(),
            "roles": list(roles),
            "corpora": corpora,
            "scorers": self._scorers(),
            "cosines": self._cosines(),
            "trained_scorers": trained,
            "metrics": self._metrics(),
            "rewards": self._rewards(),
            "rewarding_encoders": self._rewarding_encoders(),
            "spoken": {
                "evaluation": self.block["evaluation"],
                "first": {role: names[0] for role, names in roles.items()},
                "scorers": {scorer["label"]: name for name, scorer in self._scorers().items()},
            },
            "objectives": {role: self.lab.captioners[names[0]].get("objective", {}) for role, names in roles.items()},
        }
        return Needs(inputs, params)

    def plotted(self) -> Needs:
        """Return the inputs of the figures: values, differences, and language tables of each role's first training."""
        measured, roles = {table: self.measured(table) for table in ("values", "differences")}, self._roles()
        first = [names[0] for names in roles.values()]  # examples and patterns are of a single training
        language = {table: self._language(table, first) for table in ("patterns", "unigrams", "tags")}
        params = {"roles": list(roles), "cosines": self._cosines()}
        return Needs({**measured, **language}, params, ("matplotlib",), 2000, 10)

    # ------------------------------------------------------------------------------------------------ parts
    def _roles(self) -> dict[str, list[str]]:
        """Return the captioners of each role, by the paper's label. Several captioners differ in their seeds."""
        return {label: listed(names) for label, names in sorted(self.block["captioners"].items())}

    def _parents(self, captioners: list[str]) -> dict[str, str | None]:
        """Return the parents of captioners and of their ancestors; None if there is no parent."""
        found: dict[str, str | None] = {}
        for name in captioners:
            line: str | None = name
            while line is not None and line not in found:
                found[line] = self.lab.captioners[line].get("parent")
                line = found[line]
        return dict(sorted(found.items()))

    def _constructed(self) -> tuple[list[str], list[str]]:
        """Return the captioners of the family `constructed`, and the captioners whose captions they are made from."""
        made = listed(self.block["constructed"])
        return made, [self.lab.captioners[name]["captions_of"] for name in made]

    def _metrics(self) -> list[str]:
        """Return the tables of metrics that the paper does not have."""
        return self.lab.metrics.asked_by(self.block["evaluation"]) if self.block else []

    def _scored(self, table: str, captioners: list[str]) -> list[str]:
        return [paths.evaluation(table, name, self.block["evaluation"]) for name in captioners]

    def _language(self, table: str, captioners: list[str]) -> list[str]:
        return [paths.language(table, name, self.block["evaluation"]) for name in captioners]

    def _captions(self, captioners: list[str]) -> list[str]:
        return [paths.captions(name, self.block["evaluation"]) for name in captioners]

    def _scorers(self) -> dict[str, dict[str, Any]]:
        """Return name of a scorer -> its label, the factor of its scores to per cent, and their bounds in per cent."""
        labels = {name: label for label, name in self.block["scorers"].items()}
        factors, bounds = self.lab.scoring.factors(), self.lab.scoring.bounds()
        return {
            name: {"label": labels[name], "factor": factors[name], "bounds": bounds[name]} for name in sorted(labels)
        }

    def _cosines(self) -> dict[str, float]:
        """Return label of each scorer that is an encoder -> the factor between its printed scores and the cosine."""
        scorers, factors = self.lab.scoring.scorers, self.lab.scoring.factors()
        encoders = {label: name for label, name in self.block["scorers"].items() if "encoder" in scorers[name]}
        return {label: scorers[name]["scale"] * factors[name] for label, name in sorted(encoders.items())}

    def _rewards(self) -> dict[str, list[str]]:
        """Return for each role the labels of the scorers that rewarded it."""
        scorers = self._scorers()
        found = {
            role: {reward.get("scorer") for name in names for reward in self.lab.rewards(name)}
            for role, names in self._roles().items()
        }
        return {role: sorted(scorers[name]["label"] for name in of & scorers.keys()) for role, of in found.items()}

    def _rewarding_encoders(self) -> dict[str, list[str]]:
        """Return for each role the encoders that rewarded it, as retrievers or as encoders of scorers."""
        scorers = self.lab.scoring.scorers
        rewards = {
            role: [one for name in names for one in self.lab.rewards(name)] for role, names in self._roles().items()
        }
        return {
            role: sorted(
                {one["retriever"] for one in of if "retriever" in one}
                | {scorers[one["scorer"]]["encoder"] for one in of if "encoder" in scorers.get(one.get("scorer"), {})}
            )
            for role, of in rewards.items()
        }

    def _job(self) -> Block:
        """Return the evaluation, the name of its decoding and the split of each of its corpora."""
        evaluation = self.block["evaluation"]
        return {"evaluation": evaluation, **self.lab.evaluation_contexts()[evaluation]}


PAPER = Probing
