"""The folder of training pages: an index with the line to each model, and pages of trainings and of model cards."""

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from markupsafe import Markup

from captionlab.reporting.documents.facts import validated
from captionlab.reporting.runs.links import captions_link
from captionlab.reporting.runs.values import Row
from captionlab.reporting.tables.footnotes import titled
from captionlab.reporting.templates import template
from captionlab.reporting.trainings import curves
from captionlab.reporting.trainings.captions import OverTime, write_pictures
from captionlab.reporting.trainings.cards import card_html
from captionlab.reporting.trainings.curves import Chart, Curve
from captionlab.reporting.trainings.lineage import Key, Node, tree_of, walked
from captionlab.storage.files import replacing_folder

TITLE = "Trainings and models"
SECTIONS = {"captioners": "Captioners", "scorers": "Scorers", "encoders": "Encoders"}
# The share of the updates at either end of which the index has means.
TENTH = 10
SIZES = {
    "width": curves.WIDTH, "height": curves.HEIGHT, "left": curves.LEFT, "right": curves.RIGHT, "top": curves.TOP,
    "bottom": curves.BOTTOM,
}  # fmt: skip


@dataclass(frozen=True)
class Run:
    """What the pages are made from. Files are given by section and name of a model.

    `models` are descriptions (captionlab.graph.documents) with the keys `seed`, `unit` (epoch or update, of snapshots),
    `origin` (names of the files that weights came from) and `rewarded` (a list of `kind`, `section`, `name` and
    `encoder`). `captions` has the captions over time of captioners. `shown` has an evaluation and a corpus of each
    captioner in the browser.
    """

    models: Sequence[Row]
    logs: Mapping[Key, str]
    cards: Mapping[Key, str]
    captions: Mapping[str, Sequence[OverTime]] = field(default_factory=dict)
    images: Mapping[str, str] = field(default_factory=dict)  # table of images of each corpus
    shown: Mapping[str, Sequence[str]] = field(default_factory=dict)
    made: Sequence[str] = ()  # sentences on the run
    caveats: Sequence[str] = ()

    @cached_property
    def roots(self) -> list[Node]:
        """The blocks of the config that start from no other block."""
        return tree_of(self.models)

    @cached_property
    def owners(self) -> dict[Key, Node]:
        """The block of each training and snapshot."""
        return {(n.section, one["name"]): n for n in walked(self.roots) for one in n.models + n.snapshots}


@dataclass(frozen=True)
class Entry:
    """A block with its addresses, as the pages show it."""

    node: Node
    run: Run

    @property
    def anchor(self) -> str:
        """The name of the block's place in the index."""
        return f"{self.node.section}.{self.node.name}"

    @property
    def page(self) -> str:
        """The address of the page of the training, or of the place in the index of a model that is not trained here."""
        return address(training_page(self.node)) if self.node.trained else f"index.html#{quote(self.anchor)}"

    @property
    def children(self) -> list["Entry"]:
        """The blocks that start from this block."""
        return [Entry(child, self.run) for child in self.node.children]

    @property
    def way(self) -> str:
        """How the model comes about, in words."""
        return self.node.way.replace("-", " ")

    @property
    def how(self) -> str:
        """How the model comes about, from what and on what, in a sentence without its end."""
        model, words = self.node.model, self.way.capitalize()
        if self.node.parent:
            words += f" from {self.node.parent}"
        if not self.node.trained and model["origin"]:
            words += f" from {', '.join(model['origin'])}"
        licences = [f"{source['what']}: {source['licence']}" for source in model["sources"]]
        if not self.node.trained and licences:
            words += f" ({'; '.join(licences)})"
        return words + (f" on {model['line'][0]['corpus']}" if model["line"][0]["corpus"] else "")

    @property
    def links(self) -> dict[str, str]:
        """The curves, the card and the captions in the browser of the first training, as far as there are some."""
        section, name = self.node.section, self.node.model["name"]
        links = {"curves": self.page} if self.node.trained else {}
        if (section, name) in self.run.cards:
            links["card"] = address(card_page(section, name))
        if section == "captioners" and name in self.run.shown:
            links["captions"] = browser_link(self.run, name)
        return links

    @property
    def asks(self) -> dict[str, list[dict[str, str | None]]]:
        """The models that rewarded the training, and the models that it reads, each with its place in the index."""
        asked: dict[str, list[dict[str, str | None]]] = {}
        for reward in self.node.model["rewarded"]:
            key = (reward["section"], reward["name"])
            if key not in self.run.owners and reward["encoder"]:  # a scorer that is an encoder has no block of its own
                key = ("encoders", reward["encoder"])
            label = f"{reward['kind']} {reward['name'] or ''}".strip()
            asked.setdefault("Rewarded by", []).append({"name": label, "anchor": self._place(key)})
        for key, name in self.node.model["names"].items():
            asked.setdefault("Reads", []).append({"name": name, "anchor": self._place((f"{key}s", name))})
        return asked

    def _place(self, key: Key) -> str | None:
        owner = self.run.owners.get(key)
        return f"index.html#{quote(f'{owner.section}.{owner.name}')}" if owner else None

    @property
    def snapshots(self) -> list[dict[str, str | None]]:
        """The times of snapshots, with the addresses of their cards."""
        found = []
        for model in self.node.snapshots:
            key = (model["section"], model["name"])
            several = f"{model['snapshot_of']}, " if len(self.node.models) > 1 else ""
            page = address(card_page(*key)) if key in self.run.cards else None
            found.append({"time": several + time_of(model), "page": page})
        return found


def address(file: str) -> str:
    """Return the address of a file of the folder."""
    return quote(file, safe="@")


def training_page(node: Node) -> str:
    """Return the file of the page of a training."""
    return f"training.{node.section}.{node.name}.html"


def card_page(section: str, name: str) -> str:
    """Return the file of the page of a model card."""
    return f"card.{section}.{name}.html"


def time_of(snapshot: Row) -> str:
    """Return the time of a snapshot in its training, such as `epoch 2`."""
    return f"{snapshot['unit']} {snapshot['name'].rpartition('@')[2]}"


def browser_link(run: Run, captioner: str) -> str:
    """Return the address of a captioner's captions in the browser, which lies beside the folder."""
    evaluation, corpus = run.shown[captioner]
    return captions_link(corpus, captioner, evaluation, "")


def write_training_pages(run: Run, directory: Path) -> None:
    """Write the pages to `directory`, which appears at once when it is complete."""
    trained = [node for node in walked(run.roots) if node.trained]
    with replacing_folder(directory) as folder:
        pictures = _pictures(run, folder / "images")
        rows = []
        for node in trained:
            logs = {model["name"]: curves.read_curves(run.logs[node.section, model["name"]]) for model in node.models}
            charts = _charts(run, node, logs)
            _write(folder, training_page(node), node.name, run, _training_page(run, node, charts, pictures))
            rows.append({"entry": Entry(node, run), **_row(run, node, logs, charts)})
        for (section, name), card in run.cards.items():
            _write(folder, card_page(section, name), name, run, _card_page(run, section, name, card))
        trees = {section: [Entry(node, run) for node in run.roots if node.section == section] for section in SECTIONS}
        index = template("trainings.html.jinja"), {"rows": rows, "trees": trees, "sections": SECTIONS, "made": run.made}
        _write(folder, "index.html", TITLE, run, index)


def _write(folder: Path, file: str, title: str, run: Run, page: tuple[Any, Mapping[str, Any]]) -> None:
    text, values = page
    content = text.render(title=titled(title, run.caveats), **SIZES, **values)
    (folder / file).write_text(content, encoding="utf-8")


def _pictures(run: Run, folder: Path) -> dict[str, dict[str, str]]:
    """Write pictures of all images whose captions are shown, and return their files by corpus and image."""
    wanted: dict[str, dict[str, None]] = {}
    for part in (part for parts in run.captions.values() for part in parts):
        wanted.setdefault(part.corpus, {}).update(dict.fromkeys(part.images))
    return {corpus: write_pictures(run.images[corpus], ids, corpus, folder) for corpus, ids in wanted.items()}


def _charts(run: Run, node: Node, logs: Mapping[str, Mapping[str, Curve]]) -> list[Chart]:
    """Return the charts of a training, the ones that people look at first."""
    marks = _marks(run, node)
    statistics = curves.ordered(name for log in logs.values() for name in log)
    return [
        curves.chart_of(name, {training: log[name] for training, log in logs.items() if name in log}, marks)
        for name in statistics
    ]


def _marks(run: Run, node: Node) -> dict[str, int]:
    """Return the updates of the snapshots of the first training, and the update whose weights were selected."""
    first = node.model["name"]
    marks = {}
    for model in node.snapshots:
        if model["snapshot_of"] == first:
            log = curves.read_curves(run.logs[node.section, model["name"]])
            marks[f"snapshot after {time_of(model)}"] = int(max((steps[-1] for steps, _ in log.values()), default=0))
    if node.model["select"] and (kept := validated(run.logs[node.section, first], True)):
        marks[f"weights of {first} that were kept, after update {kept.step:,}"] = kept.step
    return marks


def _training_page(
    run: Run, node: Node, charts: Sequence[Chart], pictures: Mapping[str, Mapping[str, str]]
) -> tuple[Any, Mapping[str, Any]]:
    line = [Entry(run.owners[node.section, one["name"]], run) for one in reversed(node.model["line"])
            if (node.section, one["name"]) in run.owners]  # fmt: skip
    names = [model["name"] for model in node.models]
    captions = {name: [_shown(run, name, part, pictures) for part in run.captions[name]] for name in names
                if node.section == "captioners" and run.captions.get(name)}  # fmt: skip
    cards = {model["name"]: address(card_page(node.section, model["name"])) for model in node.models + node.snapshots
             if (node.section, model["name"]) in run.cards}  # fmt: skip
    return template("training.html.jinja", quoted=quote), {
        "line": line,
        "children": Entry(node, run).children,
        "names": names,
        "marks": [mark.text for mark in charts[0].marks] if charts else [],
        "logs": {name: file_link(run.logs[node.section, name]) for name in names},
        "charts": charts,
        "captions": captions,
        "captioner": node.section == "captioners",
        "cards": cards,
    }


def _shown(run: Run, name: str, part: OverTime, pictures: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """Return captions over time as a page shows them, with pictures and a link to all captions of the captioner."""
    return {
        "source": part.source,
        "corpus": part.corpus,
        "images": part.images,
        "times": part.times,
        "rewarded": any(said.reward is not None for rows in part.images.values() for said in rows),
        "pictures": pictures[part.corpus],
        "browser": browser_link(run, name) if name in run.shown else None,
    }


def _card_page(run: Run, section: str, name: str, card: str) -> tuple[Any, Mapping[str, Any]]:
    def page_of(of: str, model: str) -> str | None:
        return address(card_page(of, model)) if (of, model) in run.cards else None

    owner = run.owners.get((section, name))
    return template("model_card.html.jinja"), {
        "card": Markup(card_html(Path(card).read_text(encoding="utf-8"), section, name, page_of)),
        "training": Entry(owner, run).page if owner else None,
        "file": file_link(card),
    }


def _row(run: Run, node: Node, logs: Mapping[str, Mapping[str, Curve]], charts: Sequence[Chart]) -> dict[str, Any]:
    """Return the numbers of the first training for the index, and the chart of its reward, or else of its loss."""
    first = node.model["name"]
    log, by_name = logs[first], {chart.statistic: chart for chart in charts}
    kept = validated(run.logs[node.section, first], node.model["select"])
    return {
        "chart": next((by_name[name] for name in ("reward", "loss") if name in by_name), None),
        "updates": int(max((steps[-1] for steps, _ in log.values()), default=0)),
        "loss": _from_to(log.get("loss")),
        "reward": _from_to(log.get("reward")),
        "validation": f"{kept.measure} {kept.value:.4g} after {kept.step:,}" if kept else "",
    }


def _from_to(curve: Curve | None) -> str:
    """Return the means of the first and of the last tenth of a curve, and nothing for no curve."""
    if curve is None:
        return ""
    values = curve[1]
    share = max(1, len(values) // TENTH)
    return f"{np.mean(values[:share]):.4g} → {np.mean(values[-share:]):.4g}"


def file_link(path: str) -> str:
    """Return the address of a file of a model, from a folder beside the sections."""
    section, name, file = Path(path).parts[-3:]
    return quote(posixpath.join("..", section, name, file), safe="/@")
