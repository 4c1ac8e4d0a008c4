"""Compare the models of a finished run of config/toy_models.yaml with the models that come with captionlab.

python workflow/scripts/compare_models.py runs/toy_models

The run evaluates both on the same images. The table has each value with its 95 % interval, and says whether each of two
values lies in the interval of the other. The exit code is 1 if a value does not, or if there is nothing to compare.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from captionlab.reporting.tables.formats.markdown import escape_markdown, markdown_rows
from captionlab.scorers.schemas import MATCHING
from captionlab.statistics.intervals import Ends
from captionlab.storage import paths
from captionlab.storage.schemas import SUMMARY
from captionlab.storage.tables import read_table

ROOT = Path(__file__).parents[2]
TRAINED, SHIPPED = "toy-", "shipped-"
# Metrics by which captioners are compared: whether captions describe their images, and whether they differ.
OF_CAPTIONS = ("object recall", "CIDEr", "distinct-2")
# Model, measure, and corpus or kind of negatives.
Place = tuple[str, str, str]


@dataclass(frozen=True)
class Estimate:
    """A value and its 95 % interval."""

    value: float
    ends: Ends

    def __str__(self) -> str:
        return f"{self.value:.3g} [{self.ends[0]:.3g}, {self.ends[1]:.3g}]"

    def has(self, other: "Estimate") -> bool:
        """Return whether the value of another estimate lies in this interval."""
        return self.ends[0] <= other.value <= self.ends[1]


def evaluated(run: Path) -> Iterator[tuple[Place, Estimate]]:
    """Yield the P@1 of encoders for human captions, and the metrics OF_CAPTIONS of captioners, of a run's models."""
    for row in read_table(run / paths.reporting("summary.parquet"), SUMMARY).to_pylist():
        by_people = row["metric"] == "P@1" and row["captioner"] == "human" and row["candidates"].startswith("100 ")
        if by_people or row["metric"] in OF_CAPTIONS:
            model = row["retriever"] if by_people else row["captioner"]
            yield (model, row["metric"], row["corpus"]), Estimate(row["value"], (row["ci_low"], row["ci_high"]))


def matched(table: Path, scorer: str) -> Iterator[tuple[Place, Estimate]]:
    """Yield the share of pairs that a scorer distinguishes, in per cent, by measure and kind of negatives."""
    for row in read_table(table, MATCHING).to_pylist():
        value, low, high = (100 * row[key] for key in ("value", "ci_low", "ci_high"))
        yield (scorer, row["measure"], row["negatives"]), Estimate(value, (low, high))


def estimates(run: Path) -> dict[Place, Estimate]:
    """Return all estimates of the models of the run and of the models that come with captionlab."""
    found = dict(evaluated(run))
    for table in sorted((run / paths.RESULTS / "scorers").glob(f"{TRAINED}*/matching.parquet")):
        name = table.parent.name
        found |= dict(matched(table, name))
        shipped = ROOT / paths.MODELS / name / table.name
        found |= dict(matched(shipped, SHIPPED + name.removeprefix(TRAINED)))
    return found


def compared(found: dict[Place, Estimate]) -> Iterator[tuple[list[str], bool]]:
    """Yield a row for each measure of a model of the run, and whether it agrees with the model of captionlab."""
    for (model, measure, of), trained in found.items():
        shipped = found.get((SHIPPED + model.removeprefix(TRAINED), measure, of))
        if model.startswith(TRAINED) and shipped:
            agrees = trained.has(shipped) and shipped.has(trained)
            texts = (model, measure, of, str(trained), str(shipped), "yes" if agrees else "no")
            yield [escape_markdown(text) for text in texts], agrees


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="folder of the run, the one that holds results/")
    rows = list(compared(estimates(parser.parse_args(arguments).run)))
    headings = ["model", "measure", "of", "trained again", "shipped", "each in the other's interval"]
    print("\n".join(markdown_rows(headings, [False, False, False, True, True, False], [row for row, _ in rows])))
    return 0 if rows and all(agrees for _, agrees in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
