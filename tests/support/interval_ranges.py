"""Between which values every measure of a table lies, written out by hand, and the rows of tables that leave them."""

import csv
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

PER_CENT = (0.0, 100.0)
UNIT = (0.0, 1.0)
FROM_0 = (0.0, math.inf)
ANY = (-math.inf, math.inf)
NAMED = {
    **dict.fromkeys(("BLEU@1", "BLEU@2", "BLEU@3", "BLEU@4", "METEOR", "ROUGE-L", "SPICE", "SacreBLEU"), PER_CENT),
    **dict.fromkeys(("P@1", "R@5", "R@10", "CHAIRi", "CHAIRs", "object recall", "novelty", "repetitions"), PER_CENT),
    **dict.fromkeys(("AMBER CHAIR", "AMBER Cover", "AMBER Hal", "AMBER Cog"), PER_CENT),
    **dict.fromkeys(("distinct-1", "distinct-2", "mBLEU-4", "self-CIDEr"), PER_CENT),
    **dict.fromkeys(("distinct-1 in an image", "distinct-2 in an image"), PER_CENT),
    **dict.fromkeys(("captions cut for CLIPScore", "captions cut for PAC-S"), PER_CENT),
    **dict.fromkeys(("first pattern", "published prefix", "published second prefix", "published pattern"), PER_CENT),
    "connected noun phrases": PER_CENT,
    **{f"noun phrases connected by {word}": PER_CENT for word in ("and", "but", "at", "near", "of")},
    **dict.fromkeys(("preferred", "chosen", "changed", "tagged regions"), PER_CENT),
    **dict.fromkeys(("question accuracy", "unanswered questions"), PER_CENT),
    **{f"question accuracy, {kind}": PER_CENT for kind in ("object", "colour", "count", "scene", "other")},
    "CIDEr": (0.0, 1000.0),  # at most 10, times 100
    "CLIPScore": (0.0, 250.0),  # 2.5 times a cosine
    "PAC-S": (0.0, 200.0),
    "RefCLIPScore": (0.0, 100 * 2 / (1 / 2.5 + 1)),  # harmonic mean with a cosine
    "RefPAC-S": (0.0, 100 * 2 / (1 / 2.0 + 1)),
    **dict.fromkeys(("mean rank", "perplexity"), (1.0, math.inf)),
    **dict.fromkeys(("vocabulary", "length", "nouns", "distinct nouns", "repeated nouns"), FROM_0),
    **dict.fromkeys(("nouns of the top words", "verbs of the top words"), (0.0, 10.0)),
    **dict.fromkeys(("tau-b", "tau-c"), (-100.0, 100.0)),
    **dict.fromkeys(("acc_r", "acc", "p_c", "p_f", "AUROC"), PER_CENT),  # on foils
    **dict.fromkeys(("text score", "image score", "group score"), PER_CENT),
    **dict.fromkeys(("r", "shift"), (-1.0, 1.0)),
    **dict.fromkeys(("ranking", "micro-F1", "macro-F1", "weighted-F1", "RBO", "IoU", "confidence", "spread"), UNIT),
    **dict.fromkeys(("[CLS]", "[SEP]", "[PAD]"), UNIT),  # attention that they draw
    "deviation": (0.0, 0.5),  # of numbers from 0 to 1
    "mass": FROM_0,
    "agreement, pairs": UNIT,
    "agreement, kappa": (-1 / 9, 1.0),  # with a chance of 1 in 10
    "F1 of rare scenes above that of others": (-1.0, 1.0),
}
# Scorers whose score is 100 times a cosine, by label or name; scores of others are probabilities.
COSINES = ("CLIP", "clip", "toy-clip")
# Columns that have the value of an interval.
VALUES = ("value", "difference")
# How the names of tables begin in which `accuracy` is a share in per cent, and `difference` one of percentage points.
IN_PER_CENT = ("discritune_table6", "clipscore_")
Range = tuple[float, float]
# Ranges of scorers and of metrics that are commands, by their names in a config.
Own = Mapping[str, Range]


def range_of(table: str, row: Mapping[str, str], own: Own) -> Range:
    """Return the range of the value of a row of a table; KeyError for a measure that is not known."""
    if table == "validity":
        relative = {"naming": FROM_0, "reward": ANY}
        return PER_CENT if row["unit"] == "%" else relative[row["condition"]]
    if table == "rewards":
        return ANY
    if table in ("judgements", "judgement_slices"):
        return UNIT if row["coefficient"] == "accuracy" else (-1.0, 1.0)
    if table == "judgement_differences":
        return (-1.0, 1.0) if row["coefficient"] == "accuracy" else (-2.0, 2.0)
    if table == "comparisons":
        return ANY if row["measure"] == "strength" else UNIT
    measure = row.get("measure") or row.get("metric") or row["quantity"]
    if measure == "score":
        scorer = row.get("scorer") or row["retriever"]
        low, high = own.get(scorer, (-100.0, 100.0) if scorer in COSINES else PER_CENT)
    elif measure in own:
        low, high = own[measure]
    elif measure in ("accuracy", "difference"):
        low, high = PER_CENT if table.startswith(IN_PER_CENT) else UNIT
    elif measure.startswith(("nearness of ", "non-inferiority of ")):
        low, high = ANY
    else:
        low, high = NAMED[measure] if measure in NAMED else {"F1 of": UNIT, "bags ": PER_CENT}[measure[:5]]
    return (low - high, high - low) if row.get("against") else (low, high)


def intervals_outside(folder: Path, own: Own | None = None) -> tuple[list[str], int]:
    """Find intervals of tables below a folder that leave out their value or leave the range of its measure; count all.

    The value of `X_ci_low` stands in the column X, that of `ci_low` in one of VALUES. Of Parquet files only the value
    is looked at. KeyError for a measure of a CSV that is neither known here nor in `own`.
    """
    found, intervals = [], 0
    for path in sorted(path for ending in ("parquet", "csv") for path in folder.rglob(f"*.{ending}")):
        for row in _rows(path):
            for name in (name for name in row if name.endswith("ci_low") and row[name] not in (None, "")):
                intervals += 1
                columns = VALUES if name == "ci_low" else (name.removesuffix("_ci_low"),)
                value = float(next(row[column] for column in columns if column in row))
                low, high = float(row[name]), float(row[name.removesuffix("low") + "high"])
                lowest, highest = range_of(path.stem, row, own or {}) if path.suffix == ".csv" else ANY
                bits = 1e-9 * max(1.0, abs(value))
                if not (lowest - bits <= low <= value + bits and value - bits <= high <= highest + bits):
                    found.append(f"{path.relative_to(folder)}: {row}")
    return found, intervals


def _rows(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".csv":
        with open(path, encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    names = [name for name in pq.read_schema(path).names if not name.startswith("embedding")]
    return pq.read_table(path, columns=names).to_pylist() if any(n.endswith("ci_low") for n in names) else []
