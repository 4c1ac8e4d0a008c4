"""Estimate the distribution of attention before and after finetuning, and test the difference."""

import numpy as np

from captionlab.attention.density import estimate_density, paired_difference
from captionlab.attention.schemas import ALL, BLOCKS, DENSITIES, DIFFERENCES, RELATIONS
from captionlab.config.roles import FINETUNED, PRETRAINED, ROLES
from captionlab.jobs.scripting import script
from captionlab.storage.tables import read_table, write_table

STATISTICS = ("deviation", "mass")


@script
def main(snakemake):
    params = snakemake.params
    tables = {name: read_table(snakemake.input[name], BLOCKS).to_pylist() for name in ROLES}
    densities, differences = [], []
    for relation in (*RELATIONS, ALL):
        rows = {name: {row["image_id"]: row for row in tables[name] if row["relation"] == relation} for name in ROLES}
        points = {name: np.array([[row[s] for s in STATISTICS] for row in rows[name].values()]) for name in ROLES}
        for name in ROLES:
            density = estimate_density(points[name], params.config["steps"], np.concatenate([*points.values()]))
            grid = dict(zip(STATISTICS, np.meshgrid(*density.axes, indexing="ij"), strict=True))
            grid |= {"density": density.values, "enclosed": density.enclosed()}
            about = {"captioner": [name] * density.values.size, "relation": [relation] * density.values.size}
            densities.append({**about, **{column: values.ravel() for column, values in grid.items()}})
        for statistic in STATISTICS:
            values = [{image: row[statistic] for image, row in rows[name].items()} for name in ROLES]
            found = vars(paired_difference(*values, params.seed))
            of_roles = {PRETRAINED: found["first"], FINETUNED: found["second"]}
            differences.append({"relation": relation, "statistic": statistic, **found, **of_roles})
    columns = {name: np.concatenate([part[name] for part in densities]) for name in DENSITIES.columns}
    write_table(snakemake.output.densities, DENSITIES, columns)
    write_table(snakemake.output.differences, DIFFERENCES, differences)
