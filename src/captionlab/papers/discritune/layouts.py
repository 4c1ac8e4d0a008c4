"""Layouts of the tables of Dessì et al. 2023, without numbers. The config imports them for the names of tables."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field

RETRIEVAL_METRIC = "P@1"
# The paper's column headings for the metrics of the summary.
TEXT_HEADINGS = {"BLEU@4": "B@4", "METEOR": "M", "CIDEr": "C", "SPICE": "S"}
# Decimals as in the paper.
DECIMALS = {RETRIEVAL_METRIC: 1, **dict.fromkeys(TEXT_HEADINGS, 2)}
# Published tables with captioners of their own, and with the corpus of look-alikes.
OWN_TABLES = ("4", "5", "10")
LOOKALIKES = "11"
RETRIEVAL = (RETRIEVAL_METRIC,)
TEXT = tuple(TEXT_HEADINGS)
WITH_CIDER = (RETRIEVAL_METRIC, "CIDEr")
BLIP, CAMEL = ({"captioners": (name, f"DiscriTune-{name}")} for name in ("BLIP", "CaMEL"))


@dataclass(frozen=True)
class Layout:
    """The layout of a table: its name and title, the published table if there is one, and its metrics.

    If `variants` is set, the rows are the captioners of this group of variants. Otherwise the rows are the captioners
    of the published tables in `captioners`: () stands for all captioners that have no table of their own, None for all.
    `corpora` has the same form. `in_domain` restricts a table of text metrics to captioners that were, or were not,
    trained on the corpus. A table is made if the paper's block has, in each section of `asked`, one of its labels.
    """

    name: str
    title: str
    published: str | None
    metrics: tuple[str, ...]
    captioners: Sequence[str] | None = ()
    corpora: Sequence[str] = ()
    in_domain: bool | None = None
    asked: Mapping[str, Sequence[str]] = field(default_factory=dict)
    variants: str = ""

    def is_asked(self, block: Mapping[str, Container[str]]) -> bool:
        """Return whether a block with these captioners, corpora and variants asks for the table."""
        if self.variants:
            return self.variants in block.get("variants", ())
        return all(any(label in block[key] for label in labels) for key, labels in self.asked.items())


_FINDING, _SIMILARITY = "text-to-image retrieval", "similarity to human captions"
_HARD, _BEYOND = "hard-distractors", "beyond the paper:"
LAYOUTS = (
    Layout("table1_retrieval", f"table 1: {_FINDING}", "1", RETRIEVAL),
    Layout("table2_in_domain", f"table 2: {_SIMILARITY}, in-domain", "2", TEXT, (), ("2", "3"), True),
    Layout("table3_cross_domain", f"table 3: {_SIMILARITY}, across domains", "3", TEXT, (), ("2", "3"), False),
    Layout("table4_blip_retrieval", f"table 4: {_FINDING}, BLIP", "4", RETRIEVAL, ("4",), ("4",), asked=BLIP),
    Layout("table5_blip", f"table 5: {_SIMILARITY}, BLIP", "5", TEXT, ("5",), ("5",), asked=BLIP),
    Layout("table10_camel", f"table 10: {_SIMILARITY}, CaMEL", "10", TEXT, ("10",), ("10",), asked=CAMEL),
    Layout(
        "table11_lookalikes", "table 11: retrieval within sets of look-alikes", LOOKALIKES, RETRIEVAL, None,
        (LOOKALIKES,), asked={"corpora": ("ImageCoDe",)},
    ),
    Layout("table8_baselines", "table 8: baselines of REINFORCE", "8", RETRIEVAL, variants="baselines"),
    Layout("table9_rewards", "table 9: rewards", "9", RETRIEVAL, variants="rewards"),
    Layout("learning_rates", "section 4.1: learning rates", None, RETRIEVAL, variants="learning-rates"),
    Layout("table12_hard_distractors", f"table 12: hard distractors, {_SIMILARITY}", "12", TEXT, variants=_HARD),
    Layout("table13_hard_distractors", f"table 13: hard distractors, {_FINDING}", "13", RETRIEVAL, variants=_HARD),
    Layout(
        "retrievers", f"{_BEYOND} which retrievers understand captions that another rewarded", None, RETRIEVAL,
        variants="retrievers",
    ),
    Layout("divergence", f"{_BEYOND} a penalty for leaving the parent", None, WITH_CIDER, variants="divergence"),
)  # fmt: skip
# Part of speech -> number of its table of associated words in the paper, and the name of such a word.
ASSOCIATIONS = {"ADJ": ("7", "adjective"), "NOUN": ("14", "noun")}


def associations_name(tag: str) -> str:
    """Return the name of the table of a part of speech."""
    number, word = ASSOCIATIONS[tag]
    return f"table{number}_{word}s"
