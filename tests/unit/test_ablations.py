"""Ablations of discriminative finetuning: their rows against plain loops, their tables, and the paper's claims."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from captionlab.evaluation.ablations import ablation_rows, evaluated_results
from captionlab.evaluation.summary import Job
from captionlab.reporting.ablations import ablation_tables
from captionlab.reporting.claims import claims_table, read_claims
from captionlab.reporting.published import read_published
from captionlab.reporting.render import MISSING
from captionlab.tables import METEOR_STATISTICS

PUBLISHED = Path(__file__).parents[2] / "config" / "published"
PROVENANCE = {"config": "made-up", "seed": 7, "commit": "abc", "device": "cpu"}
ROLES = {"no baseline": ["n-1", "n-2"], "running mean": ["m-1", "m-2"], "leave one out": ["l-1"]}
RNG = np.random.default_rng(3)
RANKS = {name: RNG.integers(1, 4, 30) for names in ROLES.values() for name in names}
ABLATION = {
    "captioners": ROLES,
    "corpora": ["toy-flickr"],
    "reference": "running mean",
    "rewards": {label: ["clip-a"] for label in ROLES},
}
BLOCK = {
    "comparable": True,
    "ablations": {"baselines": {**ABLATION, "corpora": {"Flickr": "toy-flickr"}}},
}
RETRIEVERS = {"baselines": {"judges": ["clip-a", "clip-b"], "rewards": ABLATION["rewards"]}}
SPLITS = {"toy-flickr": "test", "toy-coco": "test"}


def results(name):
    ranks = [
        {"corpus": corpus, "image_id": f"{image:02d}", "retriever": retriever, "protocol": protocol, "rank": int(rank)}
        for corpus in SPLITS
        for retriever in ("clip-a", "clip-b")
        for protocol in ("file-order", "full")
        for image, rank in enumerate(RANKS[name] if protocol == "file-order" else RANKS[name] + 5)
    ]
    retrieval = pa.Table.from_pylist([{**row, "candidates": 10} for row in ranks])
    one = {"corpus": "toy-flickr", "rouge_l": 0.5, "cider": 0.25}
    one |= {"bleu_counts": [4.0] * 10, "meteor_statistics": [1.0] * METEOR_STATISTICS}
    schema = {"bleu_counts": pa.list_(pa.float64(), 10), "meteor_statistics": pa.list_(pa.float64(), METEOR_STATISTICS)}
    nlg = pa.Table.from_pylist([{**one, "image_id": f"{image:02d}"} for image in range(30)])
    for column, kind in schema.items():
        nlg = nlg.set_column(nlg.schema.get_field_index(column), column, nlg[column].cast(kind))
    return evaluated_results(Job(name, "ablations", "greedy", SPLITS), 1, nlg, retrieval)


@pytest.fixture(scope="module")
def rows():
    found = {name: results(name) for names in ROLES.values() for name in names}
    return ablation_rows("baselines", ABLATION, found)


def found_share(name):
    return 100 * sum(rank == 1 for rank in RANKS[name]) / len(RANKS[name])


def test_values_are_means_over_seeds_among_the_candidates(rows):
    values = {(row["subject"], row["measure"], row["scorer"]): row for row in rows[0]}
    assert {row["corpus"] for row in rows[0]} == {"toy-flickr"}
    assert {r["experiment"] for r in rows[0]} == {"baselines"}
    for label, names in ROLES.items():
        row = values[label, "P@1", "clip-b"]
        assert row["value"] == pytest.approx(sum(map(found_share, names)) / len(names))
        assert (row["seeds"], row["n"]) == (len(names), 30)
        assert row["ci_low"] < row["value"] < row["ci_high"]
    assert values["running mean", "CIDEr", None]["value"] == pytest.approx(25.0)


def test_differences_are_from_the_reference(rows):
    apart = {(row["subject"], row["scorer"]): row for row in rows[1] if row["measure"] == "P@1"}
    reference = (found_share("m-1") + found_share("m-2")) / 2
    assert set(apart) == {(label, r) for label in ("no baseline", "leave one out") for r in ("clip-a", "clip-b")}
    assert apart["leave one out", "clip-a"]["difference"] == pytest.approx(found_share("l-1") - reference)
    # Seed by seed: with two of them Student's t alone makes half the spread 12.706 / sqrt(2) standard deviations.
    pairs = [found_share("n-1") - found_share("m-1"), found_share("n-2") - found_share("m-2")]
    row = apart["no baseline", "clip-b"]
    assert row["difference"] == pytest.approx(np.mean(pairs))
    assert row["difference"] - row["ci_low"] >= 12.706 * np.std(pairs, ddof=1) / np.sqrt(2) - 1e-2
    # The captioner without seeds is compared with each of the reference, whose spread counts.
    alone = apart["leave one out", "clip-b"]
    spread = np.std([found_share("m-1"), found_share("m-2")], ddof=1)
    assert alone["seeds"] == 2
    assert alone["difference"] - alone["ci_low"] >= 12.706 * spread / np.sqrt(2) - 1e-2
    assert apart["leave one out", "clip-a"]["own"] is True
    assert apart["leave one out", "clip-b"]["own"] is False
    assert {row["against"] for row in rows[1]} == {"running mean"}


def test_the_table_has_the_paper_beside_the_first_retriever(rows):
    (table,) = ablation_tables(*rows, read_published(PUBLISHED / "discritune.csv"), BLOCK, RETRIEVERS, PROVENANCE)
    assert table.name == "discritune_table8_baselines"
    assert [f"{column.group} {column.heading}" for column in table.columns[1:]] == [
        "P@1 by clip-a this run",
        "P@1 by clip-a paper",
        "P@1 by clip-a against running mean",
        "P@1 by clip-b this run",
        "P@1 by clip-b against running mean",
    ]
    (block,) = table.blocks
    assert [row[0].text for row in block.rows] == ["no baseline", "running mean", "leave one out"]
    first, reference, own = block.rows
    assert first[1].text == f"{(found_share('n-1') + found_share('n-2')) / 2:.1f}°"
    assert first[2].text.split()[0] == "34.3"
    assert (reference[3].text, own[2].text) == ("", MISSING)
    assert "°" not in first[4].text


def test_the_paper_bears_out_its_claims_on_ablations():
    """Differences of exactly the published numbers, with tiny intervals."""
    published = read_published(PUBLISHED / "discritune.csv")
    names = {"B@4": "BLEU@4", "M": "METEOR", "C": "CIDEr", "S": "SPICE", "P@1": "P@1"}
    references = {"8": "running mean", "9": "log probability", "12": "DiscriTune-COCO", "13": "DiscriTune-COCO"}
    experiments = {"8": "baselines", "9": "rewards", "12": "hard-distractors", "13": "hard-distractors"}
    differences = []
    for (table, label, corpus, metric), value in published.values.items():
        if table in references and label != references[table]:
            apart = value.value - published.find(table, references[table], corpus, metric).value
            differences.append(
                {
                    "experiment": experiments[table], "subject": label, "source": None, "level": None,
                    "corpus": corpus, "measure": names[metric], "scorer": "clip" if metric == "P@1" else None,
                    "against": references[table], "own": None, "difference": apart, "ci_low": apart - 0.004,
                    "ci_high": apart + 0.004, "seeds": 3, "n": 500,
                }
            )  # fmt: skip
    records = claims_table(read_claims(PUBLISHED / "claims.yaml"), {}, PROVENANCE, {"discritune": differences}).records
    assert len({record["claim"] for record in records}) == 5
    assert {record["verdict"] for record in records} == {"holds"}
