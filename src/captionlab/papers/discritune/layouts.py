"""What the tables of Dessì et al. 2023 show, without the numbers: the graph asks for their names."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field

RETRIEVAL_METRIC = "P@1"
# The paper's column headings for the metrics of the summary.
TEXT_HEADINGS = {"BLEU@4": "B@4", "METEOR": "M", "CIDEr": "C", "SPICE": "S"}
# Decimals as in the paper.
DECIMALS = {RETRIEVAL_METRIC: 1, **dict.fromkeys(TEXT_HEADINGS, 2)}
# Captioners, and for look-alike sets a corpus, that have tables of their own.
OWN_TABLES = ("4", "5", "10")
LOOKALIKES = "11"
RETRIEVAL = (RETRIEVAL_METRIC,)
TEXT = tuple(TEXT_HEADINGS)
WITH_CIDER = (RETRIEVAL_METRIC, "CIDEr")
BLIP, CAMEL = ({"captioners": (name, f"DiscriTune-{name}")} for name in ("BLIP", "CaMEL"))


@dataclass(frozen=True)
class Layout:
    """What a table shows: the published table, which captioners and corpora, and how it is called.

    `captioners` are the published tables whose rows they are, () for all that are in no table of their own, None for
    all; `corpora` likewise. A table of text metrics may have only captioners that were trained on the corpus, or were
    not. The table is made where the paper's block has, in each section that is `asked`, one of its labels.
    """

    name: str
    title: str
    published: str
    metrics: tuple[str, ...]
    captioners: Sequence[str] | None = ()
    corpora: Sequence[str] = ()
    in_domain: bool | None = None
    asked: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def is_asked(self, captioners: Container[str], corpora: Container[str]) -> bool:
        """Whether a block with these labels asks for the table."""
        there = {"captioners": captioners, "corpora": corpora}
        return all(any(label in there[key] for label in labels) for key, labels in self.asked.items())


_FINDING, _SIMILARITY = "text-to-image retrieval", "similarity to human captions"
LAYOUTS = (
    Layout("discritune_table1_retrieval", f"table 1: {_FINDING}", "1", RETRIEVAL),
    Layout("discritune_table2_in_domain", f"table 2: {_SIMILARITY}, in-domain", "2", TEXT, (), ("2", "3"), True),
    Layout(
        "discritune_table3_cross_domain", f"table 3: {_SIMILARITY}, across domains", "3", TEXT, (), ("2", "3"), False
    ),
    Layout(
        "discritune_table4_blip_retrieval", f"table 4: {_FINDING}, BLIP", "4", RETRIEVAL, ("4",), ("4",), asked=BLIP
    ),
    Layout("discritune_table5_blip", f"table 5: {_SIMILARITY}, BLIP", "5", TEXT, ("5",), ("5",), asked=BLIP),
    Layout("discritune_table10_camel", f"table 10: {_SIMILARITY}, CaMEL", "10", TEXT, ("10",), ("10",), asked=CAMEL),
    Layout(
        "discritune_table11_lookalikes",
        "table 11: retrieval within sets of look-alikes",
        LOOKALIKES,
        RETRIEVAL,
        None,
        (LOOKALIKES,),
        asked={"corpora": ("ImageCoDe",)},
    ),
)


@dataclass(frozen=True)
class VariantsLayout:
    """A table of a group of variants: the published table if there is one, what it is about, and its metrics."""

    name: str
    title: str
    variants: str
    published: str | None
    metrics: tuple[str, ...]


VARIANTS = (
    VariantsLayout("discritune_table8_baselines", "table 8: baselines of REINFORCE", "baselines", "8", RETRIEVAL),
    VariantsLayout("discritune_table9_rewards", "table 9: rewards", "rewards", "9", RETRIEVAL),
    VariantsLayout(
        "discritune_table12_hard_distractors",
        f"table 12: hard distractors, {_SIMILARITY}",
        "hard-distractors",
        "12",
        TEXT,
    ),
    VariantsLayout(
        "discritune_table13_hard_distractors",
        f"table 13: hard distractors, {_FINDING}",
        "hard-distractors",
        "13",
        RETRIEVAL,
    ),
    VariantsLayout(
        "discritune_retrievers",
        "beyond the paper: which retrievers understand captions that another rewarded",
        "retrievers",
        None,
        RETRIEVAL,
    ),
    VariantsLayout(
        "discritune_divergence", "beyond the paper: a penalty for leaving the parent", "divergence", None, WITH_CIDER
    ),
)
# Tables of what goes with types of captions, by part of speech: the number in the paper and the word for such a word.
ASSOCIATIONS = {"ADJ": ("7", "adjective"), "NOUN": ("14", "noun")}


def associations_name(tag: str) -> str:
    """Name of the table of a part of speech."""
    number, word = ASSOCIATIONS[tag]
    return f"discritune_table{number}_{word}s"
