"""Ablations of discriminative finetuning: their rows against plain loops, their tables, and the paper's claims."""

import numpy as np
import pyarrow as pa
import pytest
from support.interval_ranges import intervals_outside
from support.paper_jobs import PAPERS, PROVENANCE, judged, printer, published, run_paper

from captionlab.evaluation.metrics.nlg.metric import METEOR_STATISTICS, NLG
from captionlab.evaluation.schemas import ROLE_DIFFERENCES, ROLE_VALUES
from captionlab.evaluation.summary import Job
from captionlab.papers.discritune.adjectives import MEASURE
from captionlab.papers.discritune.evidence import printed_colours
from captionlab.papers.discritune.summary import Scores, evaluated_results, variant_rows
from captionlab.papers.discritune.tables import variant_tables
from captionlab.reporting.claims.claims import read_claims
from captionlab.reporting.tables.formats.csv import csv_text
from captionlab.reporting.tables.render import MISSING
from captionlab.storage.schemas import GENERATED, RETRIEVAL
from captionlab.storage.tables import conform, read_metadata, read_table, write_table

CLAIMS = read_claims(PAPERS / "discritune" / "claims.yaml", "discritune")
GAIN = "the gain on Concadia-Captions"
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
    "variants": {"baselines": {**ABLATION, "corpora": {"Flickr": "toy-flickr"}}},
}
RETRIEVERS = {"baselines": {"retrievers": ["clip-a", "clip-b"], "rewards": ABLATION["rewards"]}}
SPLITS = {"toy-flickr": "test", "toy-coco": "test"}


def tables(name):
    """Columns of the tables of scores of a captioner: ranks, and text metrics."""
    ranks = [
        {"corpus": corpus, "image_id": f"{image:02d}", "retriever": retriever, "protocol": protocol, "rank": int(rank)}
        for corpus in SPLITS
        for retriever in ("clip-a", "clip-b")
        for protocol in ("file-order", "full")
        for image, rank in enumerate(RANKS[name] if protocol == "file-order" else RANKS[name] + 5)
    ]
    one = {
        "captioner": name,
        "corpus": "toy-flickr",
        "rouge_l": 0.5,
        "cider": 0.25,
        "meteor": 0.1,
        "bleu_counts": [4] * 10,
    }
    one |= {"meteor_statistics": [1.0] * METEOR_STATISTICS, **{f"bleu_{n}": 0.1 for n in range(1, 5)}}
    of_kinds = (
        (RETRIEVAL, [{**row, "caption_index": 0, "candidates": 10, "chosen": "any"} for row in ranks]),
        (NLG, [{**one, "image_id": f"{image:02d}", "caption_index": 0} for image in range(30)]),
    )
    return {kind.name: {column: [row[column] for row in rows] for column in kind.columns} for kind, rows in of_kinds}


def results(name):
    retrieval, nlg = (conform(tables(name)[kind.name], kind, "made up") for kind in (RETRIEVAL, NLG))
    return evaluated_results(Scores(Job(name, "ablations", "greedy", SPLITS), nlg, retrieval=retrieval), 1)


@pytest.fixture(scope="module")
def rows():
    found = {name: results(name) for names in ROLES.values() for name in names}
    return variant_rows("baselines", ABLATION, found)


def test_the_script_writes_these_rows_and_what_made_captions_and_ranks(rows, tmp_path):
    paths = {"captions": [], "nlg": [], "retrieval": []}
    for name in RANKS:
        columns = tables(name)
        for what, kind, of_kind, device in (
            ("captions", GENERATED, {column: [] for column in GENERATED.columns}, {"device": "H100"}),
            ("retrieval", RETRIEVAL, columns[RETRIEVAL.name], {"device": "CPU"}),
        ):
            paths[what].append(str(tmp_path / "evaluation" / name / "ablations" / f"{what}.parquet"))
            write_table(paths[what][-1], kind, of_kind, device)
    paths["nlg"].append(str(tmp_path / "evaluation" / "nlg" / "ablations.parquet"))
    write_table(paths["nlg"][0], NLG, pa.concat_tables(conform(tables(name)[NLG.name], NLG, "") for name in RANKS))
    output = {name: tmp_path / f"{name}.parquet" for name in ("values", "differences")}
    ablated = {f"variant_{name}": files for name, files in {**paths, "spice": []}.items()}
    nothing = {name: [] for name in ("captions", "nlg", "spice", "measures", "tokens", "tags")}
    run_paper(
        "summarise", "discritune", {**nothing, **ablated}, output,
        config={"comparable": True, "captioners": {}, "corpora": {}}, lineage={}, trainings={}, seed=1,
        evaluations={"ablations": {"decoding": "greedy", "splits": SPLITS}},
        variants={"baselines": {**ABLATION, "evaluation": "ablations"}},
    )  # fmt: skip
    for path, kind, expected in zip(output.values(), (ROLE_VALUES, ROLE_DIFFERENCES), rows, strict=True):
        assert read_table(path, kind).to_pylist() == expected
        assert read_metadata(path) == {"device": "CPU, H100"}


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


def test_accuracies_are_alike_within_a_twentieth_of_the_references(rows):
    reference = (found_share("m-1") + found_share("m-2")) / 2
    near = {(row["subject"], row["scorer"]): row for row in rows[1] if row["measure"] == "nearness of P@1"}
    apart = {(row["subject"], row["scorer"]): row for row in rows[1] if row["measure"] == "P@1"}
    assert near.keys() == apart.keys()
    for key, row in near.items():
        ends = [apart[key][name] for name in ("difference", "ci_low", "ci_high")]
        assert row["difference"] == pytest.approx(0.05 * reference - abs(ends[0]))
        assert row["ci_low"] == pytest.approx(0.05 * reference - max(map(abs, ends[1:])))
        assert (row["against"], row["seeds"]) == ("running mean", 2)


def test_the_table_has_the_paper_beside_the_first_retriever(rows):
    (table,) = variant_tables(*rows, published("discritune"), BLOCK, RETRIEVERS, PROVENANCE)
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


def test_no_interval_lies_outside_of_the_range_of_its_measure(rows, tmp_path):
    """Student's t over two trainings leaves the range of P@1."""
    (table,) = variant_tables(*rows, published("discritune"), BLOCK, RETRIEVERS, PROVENANCE)
    (tmp_path / f"{table.name}.csv").write_text(csv_text(table), encoding="utf-8")
    found, intervals = intervals_outside(tmp_path)
    assert found == []
    assert intervals > 5


def test_the_table_of_learning_rates_has_no_number_of_the_paper():
    """The paper prints none of its search."""
    rates = {"3e-5": ["n-1", "n-2"], "1e-4": ["m-1", "m-2"], "3e-4": ["l-1"]}
    rewards = {label: ["clip-a"] for label in rates}
    variants = {**ABLATION, "captioners": rates, "reference": "1e-4", "rewards": rewards}
    measured = variant_rows("learning-rates", variants, {name: results(name) for name in RANKS})
    block = {"comparable": True, "variants": {"learning-rates": {**variants, "corpora": {"Flickr": "toy-flickr"}}}}
    asked = {"learning-rates": {"retrievers": ["clip-a", "clip-b"], "rewards": rewards}}
    (table,) = variant_tables(*measured, published("discritune"), block, asked, PROVENANCE)
    assert table.name == "discritune_learning_rates"
    assert [f"{column.group} {column.heading}" for column in table.columns[1:]] == [
        "P@1 by clip-a this run",
        "P@1 by clip-a against 1e-4",
        "P@1 by clip-b this run",
        "P@1 by clip-b against 1e-4",
    ]
    (found,) = table.blocks
    assert [row[0].text for row in found.rows] == sorted(rates)
    means = [sum(map(found_share, rates[label])) / len(rates[label]) for label in sorted(rates)]
    assert [row[1].text for row in found.rows] == [f"{mean:.1f}°" for mean in means]
    assert [row[3].text for row in found.rows] == [f"{mean:.1f}" for mean in means]
    assert found.rows[0][2].text == ""


def test_the_paper_bears_out_its_claims_on_ablations_and_people():
    """Differences of exactly the published numbers, with tiny intervals."""
    numbers = published("discritune")
    names = {"B@4": "BLEU@4", "M": "METEOR", "C": "CIDEr", "S": "SPICE"}
    references = {"8": "running mean", "9": "log probability", "12": "DiscriTune-COCO", "13": "DiscriTune-COCO"}
    experiments = {"8": "baselines", "9": "rewards", "12": "hard-distractors", "13": "hard-distractors", "6": "study"}
    compared = [
        (table, label, references[table], corpus, metric)
        for table, label, corpus, metric in numbers.values
        if table in references and label != references[table]
    ]
    types = ("ClipCap-ConCap", "Human captions", "DiscriTune-ConCap")
    compared += [("6", types[2], other, "ConCap", "accuracy") for other in types[:2]]
    compared += [("6", types[0], other, "ConCap", "accuracy") for other in types[1:]]
    differences = []
    for table, label, against, corpus, metric in compared:
        values = [numbers.find(table, name, corpus, metric).value for name in (label, against)]
        apart = values[0] - values[1]
        differences.append(
            {
                "experiment": experiments[table], "subject": label, "source": None, "level": None, "corpus": corpus,
                "measure": names.get(metric, metric), "scorer": "clip" if metric == "P@1" else None,
                "against": against, "own": None, "margin": None, "difference": apart, "ci_low": apart - 0.004,
                "ci_high": apart + 0.004, "seeds": 3, "n": 500,
            }
        )  # fmt: skip
    measured = [dict(row) for row in differences]
    for row in measured:
        if (row["experiment"], row["measure"]) == ("baselines", "P@1"):
            near = 0.05 * numbers.find("8", "running mean", "Flickr", "P@1").value - abs(row["difference"])
            ends = {"difference": near, "ci_low": near - 0.004, "ci_high": near + 0.004}
            differences.append({**row, "measure": "nearness of P@1", **ends})
    for name in ("Human captions", "ClipCap-ConCap", "DiscriTune-ConCap"):
        for bound, share in (("chance", 10.0), ("half of the answers", 50.0)):
            apart = numbers.find("6", name, "ConCap", "accuracy").value - share
            ends = {"difference": apart, "ci_low": apart - 0.004, "ci_high": apart + 0.004}
            differences.append({**measured[-1], "subject": name, "against": bound, **ends})
    for name in ("DiscriTune-COCO", "DiscriTune-ConCap"):
        apart = numbers.find("11", name, "ImageCoDe", "P@1").value - 29.9
        place = {"experiment": "look-alikes", "corpus": "ImageCoDe", "measure": "P@1", "scorer": "clip"}
        ends = {"difference": apart, "ci_low": apart - 0.004, "ci_high": apart + 0.004}
        differences.append({**measured[-1], **place, "subject": name, "against": "the best result before", **ends})
    for printed, metric in names.items():
        values = [numbers.find("2", f"{name}-COCO", "COCO", printed).value for name in ("DiscriTune", "ClipCap")]
        above = 0.05 * values[1] + values[0] - values[1]
        place = {"experiment": "in-domain", "corpus": "COCO", "measure": f"non-inferiority of {metric}", "scorer": None}
        ends = {"difference": above, "ci_low": above - 0.004, "ci_high": above + 0.004}
        sides = {"subject": "DiscriTune-COCO", "against": "ClipCap-COCO"}
        differences.append({**measured[-1], **place, **sides, **ends})
    for one in differences:
        assert printer("discritune", numbers)(one) == pytest.approx(one["difference"])
    for other in types[:2]:
        place = {"experiment": "adjectives", "subject": types[2], "against": other, "corpus": "ConCap", "scorer": None}
        apart = printed_colours(numbers, place)
        ends = {"difference": apart, "ci_low": apart - 0.5, "ci_high": apart + 0.5, "measure": MEASURE}
        differences.append({**measured[-1], **place, **ends})
    records = judged(CLAIMS, differences).records
    verdicts = {(record["claim"], record["verdict"]) for record in records}
    untested = {"descriptions-gain-more-than-captions", "finetuned-on-coco-transfers-best", "fluency-is-kept"}
    untested |= {"captions-do-not-repeat-themselves"}
    assert {claim for claim, verdict in verdicts if verdict == "not tested in this run"} == untested
    assert {verdict for claim, verdict in verdicts if claim not in untested} == {"holds"}
    assert len(verdicts) == 16 + len(untested)


def test_the_paper_bears_out_its_claims_on_gains_and_transfer():
    """Differences of exactly the published numbers of Tables 3 and 5, with tiny intervals."""
    numbers = published("discritune")
    names = {"B@4": "BLEU@4", "M": "METEOR", "C": "CIDEr", "S": "SPICE"}

    def row(experiment, subject, corpus, metric, against, apart):
        return {
            "experiment": experiment, "subject": subject, "source": None, "level": None, "corpus": corpus,
            "measure": names[metric], "scorer": None, "against": against, "own": None, "margin": None,
            "difference": apart, "ci_low": apart - 0.004, "ci_high": apart + 0.004, "seeds": 1, "n": 500,
        }  # fmt: skip

    def value(label, corpus, metric):
        return numbers.find("5" if "BLIP" in label else "3", label, corpus, metric)

    differences, parents = [], {}
    for metric in names:
        for parent in ("ClipCap-COCO", "ClipCap-ConCap", "BLIP"):
            tuned = parent.replace("ClipCap", "DiscriTune").replace("BLIP", "DiscriTune-BLIP")
            parents[tuned] = parent
            gains = [
                value(tuned, corpus, metric).value - value(parent, corpus, metric).value
                for corpus in ("Concadia-Descriptions", "Concadia-Captions")
            ]
            differences.append(row("gains", tuned, "Concadia-Descriptions", metric, GAIN, gains[0] - gains[1]))
        for corpus in numbers.columns("3"):
            for other in ("ClipCap-COCO", "ClipCap-ConCap", "DiscriTune-ConCap"):
                ours, theirs = value("DiscriTune-COCO", corpus, metric), value(other, corpus, metric)
                if ours and theirs:
                    apart = ours.value - theirs.value
                    differences.append(row("transfer", "DiscriTune-COCO", corpus, metric, other, apart))
    for one in differences:
        assert printer("discritune", numbers, parents=parents)(one) == pytest.approx(one["difference"])
    records = judged(CLAIMS, differences).records
    found = {}
    for record in records:
        if record["verdict"] != "not tested in this run":
            found.setdefault(record["claim"], []).append(record)
    assert found.keys() == {"descriptions-gain-more-than-captions", "finetuned-on-coco-transfers-best"}
    assert [one["verdict"] for one in found["descriptions-gain-more-than-captions"]] == ["holds"] * 3
    (best,) = found["finetuned-on-coco-transfers-best"]
    assert (best["verdict"], best["comparisons"], best["as_claimed"]) == ("holds", 60, 50)
    assert "DiscriTune-COCO CIDEr on Flickr against ClipCap-COCO +3.13" in best["evidence"]
