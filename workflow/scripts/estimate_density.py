"""Estimate how attention is spread before and after finetuning, and test the difference."""

from typing import Any

import numpy as np

from captionlab.attention.blocks import ALL, RELATIONS
from captionlab.attention.density import estimate_density
from captionlab.attention.differences import paired_difference
from captionlab.attention.schemas import BLOCKS, DENSITIES, DIFFERENCES
from captionlab.roles import FINETUNED, PRETRAINED, ROLES
from captionlab.scripting import script
from captionlab.tables import read_table, write_table

STATISTICS = ("deviation", "mass")


@script
def main(snakemake: Any) -> None:
    tables = {name: read_table(snakemake.input[name], BLOCKS).to_pylist() for name in ROLES}
    densities: dict[str, list[Any]] = {name: [] for name in DENSITIES.columns}
    differences: dict[str, list[Any]] = {name: [] for name in DIFFERENCES.columns}
    for relation in (*RELATIONS, ALL):
        rows = {name: {row["image_id"]: row for row in tables[name] if row["relation"] == relation} for name in ROLES}
        points = {name: np.array([[row[s] for s in STATISTICS] for row in rows[name].values()]) for name in ROLES}
        for name in ROLES:
            density = estimate_density(
                points[name], snakemake.params.config["steps"], np.concatenate([*points.values()])
            )
            deviation, mass = np.meshgrid(*density.axes, indexing="ij")
            columns = (deviation.ravel(), mass.ravel(), density.values.ravel(), density.enclosed().ravel())
            for column, values in zip(("deviation", "mass", "density", "enclosed"), columns, strict=True):
                densities[column] += values.tolist()
            densities["captioner"] += [name] * density.values.size
            densities["relation"] += [relation] * density.values.size
        for statistic in STATISTICS:
            values = [{image: row[statistic] for image, row in rows[name].items()} for name in ROLES]
            found = vars(paired_difference(*values, snakemake.params.seed))
            row = {**found, PRETRAINED: found["first"], FINETUNED: found["second"]}
            for column in differences:
                differences[column].append({"relation": relation, "statistic": statistic, **row}[column])
    write_table(snakemake.output.densities, DENSITIES, densities)
    write_table(snakemake.output.differences, DIFFERENCES, differences)
