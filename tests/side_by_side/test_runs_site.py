"""Finished runs side by side: differences, captions, parameters, curves, and what cannot be compared."""

import csv
import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from support.browser_run import cider_of, image_id
from support.two_runs import write_run

from captionlab.commands.main import main
from captionlab.side_by_side.curves import panels
from captionlab.side_by_side.differences import compared_numbers
from captionlab.side_by_side.runs import FinishedRun, read_runs
from captionlab.side_by_side.site import write_site
from captionlab.storage import paths
from captionlab.storage.schemas import CAPTIONS, TRAINING
from captionlab.storage.tables import read_table, write_table


def rows_of(site: Path, table: str) -> list[dict[str, str]]:
    return list(csv.DictReader((site / "tables" / f"{table}.csv").open(encoding="utf-8", newline="")))


def data_of(site: Path, name: str):
    """What a script of the browser's data hands over."""
    text = (site / "browser" / "data" / f"{name}.js").read_text()
    return json.loads(text[text.index(",") + 1 : -3])


def test_differences_are_paired_over_images(site):
    rows = {(row["run"], row["captioner"], row["metric"], row["seeds"]): row for row in rows_of(site, "metrics")}
    row = rows["after", "parent", "CIDEr", "1"]
    assert (float(row["difference"]), row["against"], row["test"]) == (pytest.approx(50), "before", "paired bootstrap")
    # Each image gains as much, which only a paired interval shows.
    assert [float(row[f"difference_{end}"]) for end in ("low", "high")] == pytest.approx([50, 50])
    assert float(row["p_holm"]) >= float(row["p_value"]) > 0
    assert float(row["value"]) == pytest.approx(50 + 100 * sum(cider_of("parent", n) for n in range(12)) / 12)
    assert rows["after", "parent", "P@1", "1"]["difference"] == "0.0"
    assert rows["before", "parent", "CIDEr", "1"]["difference"] == ""


def test_trainings_of_several_seeds_have_a_mean_difference(site):
    row = next(
        row for row in rows_of(site, "metrics") if (row["run"], row["metric"], row["seeds"]) == ("after", "CIDEr", "2")
    )
    assert (row["captioner"], float(row["difference"]), row["p_value"]) == ("tuned", pytest.approx(50), "")


def test_the_difference_is_the_difference_of_the_summary(two_runs):
    """The pairs of two runs are tested as captioners of one run are."""
    runs = [FinishedRun(name, folder) for name, folder in zip("ab", two_runs, strict=True)]
    numbers, paired = compared_numbers(runs)
    assert {row["test"] for row in paired if row["seeds"] == 1} == {"paired bootstrap", "exact McNemar"}
    for one in numbers:
        assert {*one.rows} == {"a", "b"}
        difference = one.rows["b"]["value"] - one.rows["a"]["value"]
        assert one.differences["b"]["difference"] == pytest.approx(difference)
    assert not any(one.why for one in numbers)


def test_captions_of_all_runs_are_in_one_browser(site):
    run = data_of(site, "_run")
    assert run["captioners"]["after:tuned"]["parent"] == "before:tuned"
    assert run["captioners"]["before:tuned"]["parent"] is None
    world = data_of(site, "world")
    [evaluation] = world["evaluations"]
    names = [one["name"] for one in evaluation["captioners"]]
    assert names[:4] == ["before:parent", "after:parent", "before:tuned", "after:tuned"]
    difference = next(
        d for d in evaluation["numbers"]["differences"] if (d["captioner"], d["metric"]) == ("after:tuned", "CIDEr")
    )
    assert (difference["against"], difference["difference"]) == ("before:tuned", pytest.approx(50))
    assert world["images"]["broken"] == [5]
    assert (site / "browser" / "thumbnails" / "world" / "0" / "0.jpg").is_file()


def test_only_parameters_that_differ_are_listed(site):
    found = {(row["part"], row["what"], row["of"], row["run"]): row["value"] for row in rows_of(site, "parameters")}
    assert found["config", "seed", "", "before"] == "1"
    assert found["config", "seed", "", "after"] == "2"
    job = "finetune_captioner captioner tuned"
    assert found["jobs", "config.optimizer.lr", job, "after"] == "0.501"
    assert {what for part, what, _, _ in found if part == "config"} == {"seed"}
    assert not any(what.endswith("batch") for _, what, _, _ in found)


def test_libraries_and_code_that_differ(two_runs, tmp_path):
    first, second = FinishedRun("a", two_runs[0]), copy_of(two_runs[0], tmp_path / "b")
    change_job(second, "summarise_evaluation", lambda made: made["params"].update(versions={"numpy": "3"}, code="2"))
    change_job(second, "finetune_captioner/tuned", lambda made: made.update(commit="abc"))
    write_site([first, FinishedRun("b", second)], tmp_path / "site")
    rows = [row for row in rows_of(tmp_path / "site", "parameters") if row["run"] == "b"]
    values = {row["what"]: row["value"] for row in rows if row["part"] == "software and devices"}
    assert values["numpy"] == "3"
    assert "abc" in values["commit"]
    assert values["rules with other code than a"] == "summarise_evaluation"
    assert [row for row in rows if row["part"] == "jobs"] == []


def test_curves_of_all_runs_and_seeds_are_in_one_panel(two_runs):
    [(model, of_model)] = panels([FinishedRun("a", two_runs[0]), FinishedRun("b", two_runs[1])]).items()
    assert model == "tuned"
    assert [panel.statistic for panel in of_model] == ["validation_cider", "reward", "loss"]
    trainings = [("a", "tuned"), ("a", "tuned-2"), ("b", "tuned"), ("b", "tuned-2")]
    for panel in of_model:
        assert [(curve.run, curve.training) for curve in panel.curves] == trainings
        heights = [float(place.split(",")[1]) for line in panel.lines for place in line.split()]
        assert 0 <= min(heights) < max(heights) <= 240
    assert [text for _, text in of_model[0].x_ticks] == ["0", "5", "10", "15", "20", "25", "30"]
    assert any("e-0" in text for _, text in of_model[2].y_ticks)


def test_a_long_curve_has_means(two_runs, tmp_path):
    folder = copy_of(two_runs[0], tmp_path / "long")
    path = folder / paths.captioner("training.parquet", captioner="tuned")
    log = {"step": [*range(1, 1001)], "epoch": [0] * 1000, "statistic": ["loss"] * 1000, "value": [1.0, 3.0] * 500}
    write_table(path, TRAINING, log)
    loss = next(one for one in panels([FinishedRun("long", folder)])["tuned"] if one.statistic == "loss")
    curve = next(one for one in loss.curves if one.training == "tuned")
    assert len(curve.values) <= 100
    assert {*curve.values} == {2.0}
    assert (curve.updates, curve.last) == (1000, 3.0)


def test_values_that_are_not_finite_are_not_drawn(two_runs, tmp_path):
    folder = copy_of(two_runs[0], tmp_path / "odd")
    path = folder / paths.captioner("training.parquet", captioner="tuned")
    values = {"loss": [1.0, math.nan, math.inf, 3.0], "reward": [math.nan] * 4}
    rows = [(step, 0, name, value) for name, of_name in values.items() for step, value in enumerate(of_name, 1)]
    write_table(
        path, TRAINING, dict(zip(("step", "epoch", "statistic", "value"), zip(*rows, strict=True), strict=True))
    )
    curves = [one for panel in panels([FinishedRun("odd", folder)])["tuned"] for one in panel.curves]
    assert [(one.steps, one.values) for one in curves if one.training == "tuned"] == [([1, 4], [1.0, 3.0])]


def test_the_index_says_what_each_run_is(site):
    text = (site / "index.html").read_text()
    for fact in ("1 of 2 conditions met; not met: variety of tuned", "2 of 2 conditions met", "1 holds", "small"):
        assert fact in text
    moved = rows_of(site, "moved")
    verdict = next(row for row in moved if row["what"] == "verdict")
    assert (verdict["cell"], verdict["before"], verdict["value"]) == (
        "discritune, better, world",
        "cannot tell",
        "holds",
    )


def copy_of(run: Path, folder: Path) -> Path:
    shutil.copytree(run, folder)
    return folder


def change_job(run: Path, job: str, change: Callable[[dict], None]) -> None:
    path = run / paths.provenance(job)
    made = json.loads(path.read_text())
    change(made)
    path.write_text(json.dumps(made))


def reasons(runs: list[FinishedRun]) -> dict[str, set[str]]:
    """Why differences are not paired, by corpus."""
    found: dict[str, set[str]] = {}
    for one in compared_numbers(runs)[0]:
        for why in one.why.values():
            found.setdefault(one.place["corpus"], set()).add(why)
    return found


def test_other_references_of_some_images(two_runs, tmp_path):
    """Differences are unpaired, and the browser has gaps."""
    first, folder = FinishedRun("a", two_runs[0]), copy_of(two_runs[1], tmp_path / "b")
    path = folder / paths.corpus("captions", "world")
    captions = read_table(path, CAPTIONS).to_pandas()
    captions.loc[captions["image_id"] == image_id(3), "caption"] = "other"
    write_table(path, CAPTIONS, captions.to_dict("list"))
    other = FinishedRun("b", folder)
    [why] = reasons([first, other])["world"]
    assert "11 of 12 and 12 images of the split test are the same" in why
    write_site([first, other], tmp_path / "site")
    world = data_of(tmp_path / "site", "world")
    texts = {one["name"]: one["text"] for one in world["evaluations"][0]["captioners"]}
    assert texts["a:parent"][3] is not None
    assert [place for place, text in enumerate(texts["b:parent"]) if text is None] == [3]
    ranked = {one["name"].split(":")[0] for one in world["evaluations"][0]["captioners"] if one["chosen"]}
    assert ranked == {"a"}, "b searched among other images"
    row = next(row for row in rows_of(tmp_path / "site", "metrics") if row["run"] == "b" and row["metric"] == "CIDEr")
    assert (row["test"], row["p_value"], float(row["difference"])) == ("unpaired", "", pytest.approx(50))
    assert float(row["difference_low"]) < 50 < float(row["difference_high"])
    assert "11 of 12" in (tmp_path / "site" / "index.html").read_text()


def test_a_run_of_tables_and_summary_alone(two_runs, tmp_path):
    """As in an RO-Crate without scores, captions and provenance."""
    folder = tmp_path / "crate"
    for name in ("tables", "reporting"):
        shutil.copytree(two_runs[1] / "results" / name, folder / "results" / name)
    shutil.copy(two_runs[1] / paths.CONFIG, folder / "config.yaml")
    (folder / "ro-crate-metadata.json").write_text("{}")
    crate = FinishedRun("crate", folder)
    assert crate.config["seed"] == 2
    first = FinishedRun("a", two_runs[0])
    assert "crate has no results/corpora/world/images.parquet" in reasons([first, crate])["world"].pop()
    write_site([first, crate], tmp_path / "site")
    assert "crate has no browser of captions" in (tmp_path / "site" / "index.html").read_text()
    write_site([crate, first], tmp_path / "other way")
    assert not (tmp_path / "other way" / "browser").exists()


def test_scores_that_were_made_again_are_not_paired(two_runs, tmp_path):
    folder = copy_of(two_runs[0], tmp_path / "b")
    (folder / paths.nlg("main")).write_bytes((two_runs[1] / paths.nlg("main")).read_bytes())
    found = reasons([FinishedRun("a", two_runs[0]), FinishedRun("b", folder)])["world"]
    assert "b has no scores of single captions behind its CIDEr" in found
    assert not any("P@1" in why for why in found)


def test_the_command(two_runs, tmp_path, capsys):
    words = ["compare-runs", *map(str, two_runs), "--output", str(tmp_path / "site")]
    assert main(words) == 0
    assert capsys.readouterr().out == f"open {tmp_path / 'site' / 'index.html'}\n"
    assert {*json.loads((tmp_path / "site" / "runs.json").read_text())} == {"first", "second"}
    assert main(words) == 0, "a site that the command made is replaced"
    assert main(["compare-runs", *(str(run / "results") for run in two_runs), "--output", str(tmp_path / "site")]) == 0


def test_three_runs(two_runs, tmp_path):
    runs = read_runs([f"a={two_runs[0]}", f"b={two_runs[1]}", f"c={two_runs[0]}"])
    write_site(runs, tmp_path / "site")
    rows = pd.read_csv(tmp_path / "site" / "tables" / "metrics.csv")
    rows = rows[(rows["metric"] == "CIDEr") & (rows["captioner"] == "parent")].set_index("run")
    assert rows["difference"].round(6).to_dict() == {"a": pytest.approx(float("nan"), nan_ok=True), "b": 50.0, "c": 0.0}


def test_wrong_input_is_named(two_runs, tmp_path, capsys, answers):
    first, second = two_runs
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "results" / "tables").mkdir(parents=True)
    (elsewhere / "results" / "config.yaml").write_text("corpora: {mine: {}}")
    (elsewhere / "results" / "tables" / "evaluation.csv").write_text("captioner\n")
    (tmp_path / "empty" / "results").mkdir(parents=True)
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.tex").write_text("years of work")

    def said(*words: object, output: Path = tmp_path / "site") -> str:
        assert main(["compare-runs", *map(str, words), "--output", str(output)]) == 1
        return capsys.readouterr().err

    answers.hold("one run", said(first), "two runs")
    answers.hold("a folder that is no run", said(first, mine), "…/mine")
    answers.hold("a run without tables", said(first, tmp_path / "empty"), "tables")
    answers.hold("two runs of the same name", said(first, first), "'first'")
    answers.hold("a name with a colon", said(f"a:b={first}", second), "'a:b'")
    answers.hold("runs that share no corpus", said(first, elsewhere), "elsewhere")
    answers.hold("an output that is there", said(first, second, output=mine), "…/mine")
    assert (mine / "thesis.tex").read_text() == "years of work"
    assert not (tmp_path / "site").exists()


def test_a_run_is_written_alike_twice(tmp_path):
    """The differences of a run from a copy of it are all 0."""
    runs = [FinishedRun(name, write_run(tmp_path / name)) for name in "ab"]
    assert {one.differences["b"]["difference"] for one in compared_numbers(runs)[0]} == {0.0}
