"""The captions of all runs in one browser, for the images of the first run."""

import shutil
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from captionlab.browser.captions import RANK, AllCaptions, Key, Measure, ScoredCaptions, read_captions
from captionlab.browser.images import OF_FOLDER, images_of, training_words
from captionlab.browser.numbers import FileBehind, Numbers, read_files_behind
from captionlab.browser.site import THUMBNAILS, known_to, write_corpus, write_run
from captionlab.config.families import score_tables
from captionlab.reporting.runs.values import Row
from captionlab.side_by_side import images as of_runs
from captionlab.side_by_side.differences import called, metric_of
from captionlab.side_by_side.runs import FinishedRun
from captionlab.storage import paths
from captionlab.storage.paths import RESOURCES


@dataclass
class Captions:
    """The captions of all runs, by evaluation, corpus and RUN:captioner, what the page says of them, and gaps.

    `params` has the captioners, evaluations, corpora and splits that `write_corpus` and `write_run` take.
    """

    said: dict[tuple[str, str, str], ScoredCaptions]
    known: Mapping[str, frozenset[str] | None]
    params: Mapping[str, Any]
    gaps: Sequence[str] = field(default=())

    def __contains__(self, place: tuple[str, str, str]) -> bool:
        """Return whether the page shows captions of an evaluation, a corpus and RUN:captioner."""
        return bool(place in self.said and self.said[place].texts)


def read_all_captions(runs: Sequence[FinishedRun]) -> Captions:
    """Return the captions of the runs for the images of the first run.

    A run that recorded no browser has none. Captions of other runs are kept for images that are the same in both, and
    ranks if both searched among the same candidates.
    """
    first = runs[0]
    if not _shown(first):
        return Captions({}, {}, {}, [_without(first)])
    said: dict[tuple[str, str, str], ScoredCaptions] = {}
    known: dict[str, frozenset[str] | None] = {}
    gaps = [_without(run) for run in runs if not _shown(run)]
    captioners, evaluations = dict[str, Any](), dict[str, dict[str, Any]]()
    for run in filter(_shown, runs):
        shown = _shown(run)
        words = {corpus: _training_words(run, corpus) for corpus in shown["training"]}
        for captioner, block in shown["captioners"].items():
            # The page first compares a captioner with its parent, here with the captioner of the first run.
            pair = None if run is first or captioner not in _shown(first)["captioners"] else called(first, captioner)
            captioners[called(run, captioner)] = {**block, "parent": pair}
            known[called(run, captioner)] = known_to(block["trained"], words)
        for name, block in shown["evaluations"].items():
            merged = evaluations.setdefault(name, {**block, "captioners": [], "corpora": []})
            merged["captioners"] += block["captioners"]
            merged["corpora"] = [*dict.fromkeys([*merged["corpora"], *block["corpora"]])]
        for (evaluation, corpus, captioner), captions in _read(run).items():
            if corpus in _shown(first)["corpora"]:
                kept = captions if run is first else _of_same(first, run, evaluation, corpus, captions, gaps)
                said[evaluation, corpus, called(run, captioner)] = kept
    for block in evaluations.values():  # a captioner's runs side by side
        names = [called(run, captioner) for captioner in dict.fromkeys(block["captioners"]) for run in runs]
        block["captioners"] = [name for name in names if name in captioners]
    corpora = {name: _shown(first)[name] for name in ("corpora", "splits", "languages")}
    params = {"captioners": captioners, "evaluations": evaluations, **corpora}
    return Captions(said, known, params, [*dict.fromkeys(gaps)])


def write_captions(folder: Path, runs: Sequence[FinishedRun], captions: Captions, paired: Sequence[Row]) -> None:
    """Write the page with the captions, whose thumbnails are copies of those of the first run, into a folder.

    `paired` are rows of COMPARISONS of paired differences, with captioners called RUN:captioner.
    """
    first, folder = runs[0], Path(folder)
    shutil.copytree(RESOURCES / "browser", folder, ignore=shutil.ignore_patterns("__pycache__"))
    about = {"config": ", ".join(run.name for run in runs), "seed": None, "runs": len(runs), **_about(runs)}
    entries, numbers = [], _numbers(runs, paired)
    for corpus in captions.params["corpora"]:
        files = {
            name: str(first.file(paths.corpus(name, corpus)))
            for name in ("images", "captions", "objects", "scene_captions")
        }
        columns = images_of(files, captions.params["splits"][corpus])
        columns |= _copy_thumbnails(first, corpus, len(columns["id"]), folder / THUMBNAILS / corpus)
        entries.append(
            write_corpus(folder, corpus, columns, captions.said, captions.known, numbers, {}, captions.params)
        )
    write_run(folder, entries, {**captions.params, "about": about})


def _numbers(runs: Sequence[FinishedRun], paired: Sequence[Row]) -> Numbers:
    """Return the numbers of all runs, with captioners called RUN:captioner, and the files behind them."""
    summary, files = list[Row](), list[FileBehind]()
    scores = defaultdict[str, list[str]](list)
    for run in filter(_shown, runs):
        summary += [{**row, "captioner": called(run, row["captioner"])} for row in run.summary]
        captions, tables = _files(run)
        behind = read_files_behind(captions, tables)
        files += [(called(run, captioner), evaluation, about) for captioner, evaluation, about in behind]
        for table, paths_of_table in tables.items():
            scores[table] += paths_of_table
    facts = {name: of_table for name, of_table in score_tables().items() if name in scores}
    return Numbers(summary, paired, [], files, scores, facts)


def _shown(run: FinishedRun) -> Mapping[str, Any]:
    """Return what the browser of a run shows, as its job recorded; empty if the run has no browser."""
    if not run.file(paths.BROWSER).is_dir():
        return {}
    found: Mapping[str, Any] = run.jobs.get("build_browser", {}).get("params", {}).get("shown", {})
    return found


def _about(runs: Sequence[FinishedRun]) -> dict[str, Any]:
    """Return whether any run is of the toy world, and the caveats of the runs."""
    of_runs = [(run, run.jobs.get("build_browser", {}).get("params", {}).get("about", {})) for run in runs]
    caveats = [f"{run.name}: {caveat}" for run, about in of_runs for caveat in about.get("caveats", [])]
    return {"toy": any(about.get("toy") for _, about in of_runs), "caveats": caveats}


def _without(run: FinishedRun) -> str:
    return (
        f"{run.name} has no browser of captions (`snakemake {paths.BROWSER}` makes it), so its captions are not shown"
    )


def _files(run: FinishedRun) -> tuple[list[str], dict[str, list[str]]]:
    """Return the files of captions and, by metric, of scores that the browser of a run was made from."""
    tables = defaultdict[str, list[str]](list)
    files = [name for name in run.jobs["build_browser"]["inputs"] if run.file(name).is_file()]
    for name in files:
        if paths.stage_of(name) == "evaluation" and (metric := metric_of(name)):
            tables[metric].append(str(run.file(name)))
    return [str(run.file(name)) for name in files if paths.stage_of(name) == "captions"], dict(tables)


def _read(run: FinishedRun) -> AllCaptions:
    """Return the captions and scores that the browser of a run was made from."""
    return read_captions(*_files(run), _shown(run)["factors"])


def _training_words(run: FinishedRun, corpus: str) -> set[str]:
    return training_words(*(str(run.file(paths.corpus(table, corpus))) for table in ("images", "captions")))


def _of_same(
    first: FinishedRun, run: FinishedRun, evaluation: str, corpus: str, captions: ScoredCaptions, gaps: list[str]
) -> ScoredCaptions:
    """Return the captions of images that are the same in the first run. What is left out is told in `gaps`."""
    splits = [_shown(one)["splits"].get(corpus) for one in (first, run)]
    if splits[0] != splits[1]:
        gaps.append(
            f"captions of {run.name} for {corpus} are not shown, which are of the split {splits[1]}, not {splits[0]}"
        )
        return ScoredCaptions()
    kept, ranks = set(captions.texts), _searched(first, evaluation) == _searched(run, evaluation)
    if why := of_runs.why_different(first, run, corpus, splits[0]):
        images, others = (of_runs.images_of(one, corpus, splits[0]) for one in (first, run))
        kept = {key for key in kept if key[0] in images and images[key[0]] == others[key[0]]}
        gaps.append(f"{why}; only captions of these are shown")
        ranks = False
    elif not ranks:
        gaps.append(f"{run.name} searched among other candidates in {evaluation}, so its ranks are not shown")
    return _limited(captions, kept, ranks)


def _searched(run: FinishedRun, evaluation: str) -> tuple[Any, ...] | None:
    """Return what the candidates of an evaluation were drawn with."""
    block = _shown(run)["evaluations"].get(evaluation)
    return block and (block["candidates"], block["seed"])


def _limited(captions: ScoredCaptions, kept: Collection[Key], ranks: bool) -> ScoredCaptions:
    """Return captions by their keys, with or without ranks."""

    def of(by_measure: Mapping[Measure, Mapping[Key, Any]]) -> dict[Measure, Any]:
        return {
            measure: {key: value for key, value in values.items() if key in kept}
            for measure, values in by_measure.items()
            if ranks or measure.metric != RANK
        }

    texts = {key: text for key, text in captions.texts.items() if key in kept}
    return ScoredCaptions(texts, of(captions.values), of(captions.chosen), of(captions.notes))


def _copy_thumbnails(run: FinishedRun, corpus: str, images: int, folder: Path) -> dict[str, list[int]]:
    """Copy the thumbnails of a corpus, and return the positions of images without one, as `write_thumbnails` does."""
    source = run.file(paths.BROWSER) / THUMBNAILS / corpus
    shutil.copytree(source, folder)
    missing = [place for place in range(images) if not (folder / str(place // OF_FOLDER) / f"{place}.jpg").is_file()]
    alone = len(missing) == images  # a corpus of texts
    return {"without": missing if alone else [], "broken": [] if alone else missing}
