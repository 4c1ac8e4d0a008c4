"""Training pages: values against the logs, thinning, the line to each model, captions over time, cards."""

import json
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np
import pyarrow.parquet as pq
import pytest
from support.training_run import HOSTILE, NAME, imported, model, training_run, write_log

from captionlab.reporting.trainings.captions import at_snapshots, before_and_after, spread
from captionlab.reporting.trainings.cards import card_html
from captionlab.reporting.trainings.curves import HEIGHT, LEFT, RIGHT, WIDTH, chart_of, ordered, read_curves, thinned
from captionlab.reporting.trainings.lineage import tree_of
from captionlab.reporting.trainings.pages import write_training_pages
from captionlab.storage.schemas import GENERATED, REWARDS, TRAINING
from captionlab.storage.tables import write_table


class Page(HTMLParser):
    """The links of a page, its tags, and the points of curves by statistic and training."""

    def __init__(self, path: Path):
        super().__init__()
        self.links, self.tags, self.values = [], [], {}
        self._chart, self._text = "", ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.tags.append(f"{tag} {given.get('type', '')}".strip())
        self.links += [given[name] for name in ("href", "src") if given.get(name)]
        self._text = ""

    def handle_data(self, data):
        self._text += data

    def handle_endtag(self, tag):
        if tag == "figcaption":
            self._chart = self._text
        elif tag == "script" and self.tags[-1].endswith("json"):
            for curve in json.loads(self._text):
                points = zip(curve["steps"], curve["values"], strict=True)
                self.values[self._chart, curve["training"]] = list(points)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return training_run(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def folder(run, tmp_path_factory):
    """The pages beside the models of the run."""
    place = Path(run.logs["captioners", "tuned"]).parents[2] / "training"
    write_training_pages(run, place)
    return place


def recorded(path):
    """The values of a log by update and statistic, read without captionlab."""
    rows = pq.read_table(path).to_pylist()
    return {(row["statistic"].replace("_", " "), row["step"]): row["value"] for row in rows}


def test_each_value_of_a_page_is_in_the_log(run, folder):
    found = Page(folder / "training.captioners.tuned.html").values
    assert {training for _, training in found} == {"tuned", "tuned-5"}
    titles = ["loss", "reward", "validation: cider", "learning rate"]
    assert list(dict.fromkeys(title for title, _ in found)) == titles
    for (title, training), points in found.items():
        log = recorded(run.logs["captioners", training])
        statistic = title.replace("validation: ", "validation ")
        assert points
        assert points == [(step, pytest.approx(log[statistic, step], rel=1e-5)) for step, _ in points]
    # 300 updates of two trainings are few enough to be complete.
    assert len(found["loss", "tuned"]) == 300


@pytest.mark.parametrize("updates", [1, 2, 481, 100_000])
def test_thinning_keeps_the_extremes_of_each_bucket_and_both_ends(updates):
    rng, steps = np.random.default_rng(updates), np.arange(1, updates + 1)
    values = np.round(rng.normal(size=updates), 1)  # with ties
    rows = thinned(steps, values, 240)
    assert len(rows) <= 482
    assert {0, updates - 1} <= {*rows.tolist()}
    assert (np.diff(rows) > 0).all()
    kept = {*rows.tolist()}
    for bucket in range(240 if updates > 480 else 0):
        here = [n for n in range(updates) if n * 240 // updates == bucket]
        for extreme in (min, max):
            assert extreme(here, key=lambda n: values[n]) in kept


def test_the_path_of_a_chart_reaches_from_edge_to_edge_and_stays_inside():
    steps = np.arange(1, 5001)
    chart = chart_of("loss", {"a": (steps, 5 / steps), "b": (steps, 3 / steps)}, {"first": 1, "late": 9000})
    for line in chart.lines:
        places = [[float(part) for part in point.split()] for point in line.path[1:].split("L")]
        assert (places[0][0], places[-1][0]) == (LEFT, WIDTH - RIGHT)
        assert all(0 <= y <= HEIGHT for _, y in places)
    assert [mark.text for mark in chart.marks] == ["first"]
    assert chart.values[0] <= 3 / 5000 < 5 <= chart.values[1]
    assert sum(len(line.points) for line in chart.lines) <= 1000


def test_values_that_are_not_finite_are_left_out(tmp_path):
    rows = {"step": [1, 2, 3], "epoch": [0] * 3, "statistic": ["loss"] * 3, "value": [1.0, float("nan"), 2.0]}
    write_table(tmp_path / "training.parquet", TRAINING, rows)
    steps, values = read_curves(tmp_path / "training.parquet")["loss"]
    assert (steps.tolist(), values.tolist()) == ([1, 3], [1.0, 2.0])


def test_a_curve_of_one_value_is_drawn():
    chart = chart_of("learning_rate", {"a": (np.array([1, 2]), np.array([0.1, 0.1]))})
    assert len(chart.up) == 1
    assert 0 < chart.up[0].place < HEIGHT


def test_statistics_that_people_look_at_come_first():
    names = ["baseline", "learning_rate", "validation_cider", "reward", "loss", "loss"]
    assert ordered(names) == ["loss", "reward", "validation_cider", "learning_rate", "baseline"]


def test_the_tree_has_each_model_below_its_parent_at_any_depth():
    models = [
        model("c", "b@2", "a"), model("b@2", "a", snapshot_of="b"), model("b", "a"), imported("a"),
        model("d", "c", "b@2", "a"), model("e-7", "a", trainings=["e", "e-7"], seed=7),
        model("e", "a", trainings=["e", "e-7"]), model("a", section="scorers"), model("f-7", "e-7", "a"),
    ]  # fmt: skip
    scorer, captioner = sorted(tree_of(models), key=lambda node: node.section, reverse=True)
    assert (scorer.name, scorer.children) == ("a", [])
    b, e = sorted(captioner.children, key=lambda node: node.name)
    assert [one["name"] for one in b.snapshots] == ["b@2"]
    assert [node.name for node in b.children] == ["c"]
    assert [node.name for node in b.children[0].children] == ["d"]
    assert (e.name, e.seeds, [node.name for node in e.children]) == ("e", [1, 7], ["f-7"])


def test_a_snapshot_whose_training_nobody_names_has_a_place():
    roots = tree_of([model("b@2", "a", snapshot_of="b"), imported("a")])
    assert [node.name for node in roots] == ["a"]
    assert [node.name for node in roots[0].children] == ["b@2"]


def test_every_link_leads_to_a_file_and_every_place_is_there(folder):
    pages = {path: Page(path) for path in folder.glob("*.html")}
    assert len(pages) == 1 + 3 + 5
    anchors = (folder / "index.html").read_text(encoding="utf-8")
    for page in pages.values():
        for link in (link for link in page.links if not link.startswith(("https:", "../browser/", "../tables/"))):
            parts = urlsplit(link)
            file = folder / unquote(parts.path)
            assert file.exists() or file.name == "model.safetensors", link
            assert not parts.fragment or f'id="{unquote(parts.fragment)}"' in anchors, link


def test_the_index_leads_to_curves_cards_and_captions(folder):
    links = Page(folder / "index.html").links
    assert {"training.captioners.tuned.html", "card.captioners.tuned.html", "card.captioners.tuned@2.html"} <= {*links}
    assert "../browser/index.html#corpus=photos&evaluation=main&a=tuned" in links
    # What rewarded is linked: a scorer, and the encoder of a scorer that is an encoder.
    assert {"index.html#scorers.judge", "index.html#encoders.eye"} <= {*links}


def test_names_captions_and_cards_are_texts(folder):
    for path in folder.glob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert "<img src=x" not in text
        assert Page(path).tags.count("script") == 1
        assert "limited" in text.split("</title>")[0]
    assert any(NAME in path.name for path in folder.glob("training.*"))


def test_a_page_has_captions_at_the_first_and_last_validation_and_at_few_between(folder):
    text = (folder / "training.captioners.tuned.html").read_text(encoding="utf-8")
    assert "20 times were recorded" in text
    assert [text.count(f"<td>update {step}</td>") for step in (0, 950)] == [2, 2]
    assert text.count("<td>update ") == 16
    assert text.count('<img src="images/') == 1  # the other image is gone
    assert "recorded no captions" in (folder / f"training.captioners.{NAME}.html").read_text(encoding="utf-8")
    assert "writes no captions" in (folder / "training.scorers.judge.html").read_text(encoding="utf-8")


def test_captions_before_and_after_and_at_snapshots(tmp_path):
    rows = [(name, f"i{n}", f"{name} {n}", n / 2, None) for name in ("after", "before", "commonest") for n in range(20)]
    columns = dict(zip(REWARDS.columns, zip(*rows, strict=True), strict=True))
    write_table(tmp_path / "rewards.parquet", REWARDS, columns)
    over_time = before_and_after(tmp_path / "rewards.parquet", "photos")
    assert list(over_time.images) == [f"i{n}" for n in range(8)]
    assert [(said.time, said.caption, said.reward) for said in over_time.images["i3"]] == [
        ("before", "before 3", 1.5), ("after", "after 3", 1.5),
    ]  # fmt: skip
    files = []
    for time in ("epoch 1", "the end"):
        rows = [(corpus, "x", 0, f"{corpus} {time}", None, None) for corpus in ("photos", "others")]
        columns = dict(zip(GENERATED.columns, zip(*rows, strict=True), strict=True))
        write_table(tmp_path / f"{time}.parquet", GENERATED, columns)
        files.append((time, tmp_path / f"{time}.parquet"))
    over_time = at_snapshots(files)
    assert over_time.corpus == "photos"
    assert [said.caption for said in over_time.images["x"]] == ["photos epoch 1", "photos the end"]


def test_images_with_several_captions_are_as_many_as_others(tmp_path):
    rows = [("photos", f"i{n}", index, f"{n} {index}", None, None) for n in range(20) for index in range(5)]
    write_table(tmp_path / "all.parquet", GENERATED, dict(zip(GENERATED.columns, zip(*rows, strict=True), strict=True)))
    images = at_snapshots([("the end", tmp_path / "all.parquet")]).images
    assert [[said.caption for said in images[name]] for name in images] == [[f"{n} 0"] for n in range(8)]


def test_times_are_spread_evenly():
    assert spread(range(5)) == [0, 1, 2, 3, 4]
    assert (spread(range(100))[0], spread(range(100))[-1], len(spread(range(100)))) == (0, 99, 8)


def test_a_card_is_html_without_its_metadata_and_its_links_lead_to_cards_or_files():
    card = f"---\na: 1\n---\n\n# x\n\n[b](../b/README.md) [e](../../encoders/e/README.md) [w](w.bin) {HOSTILE}\n"
    found = card_html(card, "captioners", "x", lambda section, name: f"P.{name}" if section == "captioners" else None)
    assert 'href="P.b"' in found
    assert 'href="../encoders/e/README.md"' in found
    assert 'href="../captioners/x/w.bin"' in found
    assert "<h1>" not in found
    assert "a: 1" not in found
    assert "<img" not in found


def test_a_log_of_many_updates_gives_a_small_page(tmp_path):
    log = write_log(tmp_path / "training.parquet", 20_000, 3)
    chart = chart_of("loss", {f"seed {n}": read_curves(log)["loss"] for n in range(40)})
    assert sum(len(line.path) for line in chart.lines) < 20_000
