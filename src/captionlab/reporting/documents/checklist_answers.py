"""Answers to the reviewing checklists, from what a run knows (captionlab.reporting.documents.checklist)."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from captionlab.reporting.claims.reproduction_table import OUTCOMES, outcomes
from captionlab.reporting.documents.checklist import Answer, Question, unknown
from captionlab.reporting.documents.costs import clock
from captionlab.reporting.documents.facts import Counts, Validated, many
from captionlab.reporting.documents.model_cards import KINDS, licences, validation_text
from captionlab.reporting.runs.values import Row, trainings
from captionlab.reporting.tables.footnotes import TOY
from captionlab.reporting.tables.parameters import flat_parameters
from captionlab.reporting.tables.sheets import INTERVALS
from captionlab.statistics.intervals import RESAMPLES
from captionlab.storage import paths

CLAIMS, MODELS, COMPUTE = "claims and limits", "models and their training", "what it cost"
DATA, EVALUATION, PEOPLE, CODE = "data and licences", "evaluation", "people", "code, and what only authors know"
CARDS, TRAINING_LOG = paths.model(paths.CARD), paths.model("training.parquet")
AUTHORS = "Not known to a run; the authors say it."
NOBODY = "Nobody took part: answers and judgements of this run, where it has any, are simulated."


@dataclass(frozen=True)
class Known:
    """Everything that a run knows about itself. A field is empty if the run has nothing of the kind."""

    models: Sequence[Row]  # as captionlab.graph.documents describes them
    parameters: Sequence[int]  # of each model, in the same order
    validated: Mapping[str, Validated | None]  # by section/name, for trained models
    seeds: Mapping[str, int]  # by section/name, for trained models
    corpora: Mapping[str, Row]
    counts: Mapping[str, Counts]
    costs: Sequence[Row]  # rows of COSTS
    training_rules: Sequence[str]
    comparisons: Sequence[Row]  # rows of COMPARISONS
    evaluations: Mapping[str, Row]  # name -> decoding and splits
    decodings: Mapping[str, Row]
    metrics: Mapping[str, str]  # table of scores -> implementation
    searches: Mapping[str, Sequence[Row]]  # captioner -> rows of SEARCH
    validity: Sequence[Mapping[str, str]]  # rows of validity.csv
    claims: Sequence[Mapping[str, str]]  # rows of claims.csv
    papers: Mapping[str, Row]
    participants: Mapping[str, Sequence[Row]]  # rows of PARTICIPANTS, of people and of simulated participants
    excluded_images: int | None  # excluded from the study; None if the config has no list
    judgements: Mapping[str, bool]  # name of a set -> whether its judges are simulated
    software: Row  # CITATION.cff
    run: Row  # config, seed, commit, versions, toy

    @property
    def trained(self) -> list[Row]:
        """The models that the run trained, including snapshots of their trainings."""
        return [model for model in self.models if model["job"]]

    @property
    def trainings(self) -> list[Row]:
        """The models at the ends of the run's trainings, without snapshots."""
        return [model for model in self.trained if not model["snapshot_of"]]


def questions(known: Known) -> Iterator[Question]:
    """Yield every question, by topic. A question without answers is turned into an unanswered one."""
    for of_topic in (_claims, _models, _compute, _data, _evaluation, _people, _code):
        for one in of_topic(known):
            nothing = "The run has nothing of the kind."
            yield one if one.answers else unknown(one.topic, one.name, one.text, nothing, one.acl, one.neurips)


def _claims(known: Known) -> Iterator[Question]:
    found = Counter(one.verdict for one in outcomes(known.claims))
    counted = ", ".join(f"{verdict} {found[verdict]}" for verdict in OUTCOMES if found[verdict])
    text = "do the results bear out what is claimed?"
    if found:
        said = f"{found.total()} claims of {len(known.papers)} papers: {counted}"
        yield Question(CLAIMS, "claims", text, [Answer(said)], "tables reproduction, claims", "A3", "1")
    else:
        yield unknown(CLAIMS, "claims", text, "The config asks for no paper, so no claim is judged.", "A3", "1")
    limits = [Answer(TOY.rstrip("."))] if known.run.get("toy") else []
    apart = [name for name, paper in known.papers.items() if not paper["comparable"]]
    if apart:
        limits.append(
            Answer("data and models are not the paper's: no number is held against a published one", ", ".join(apart))
        )
    if known.validity:
        met = sum(row["met"] == "True" for row in known.validity)
        limits.append(
            Answer(f"{met} of {len(known.validity)} conditions for the experiments to mean something are met")
        )
    if known.trained and not any(model["trainings"] for model in known.trained):
        limits.append(
            Answer("every model was trained once: intervals are over images, and another seed is not in them")
        )
    text = "what limits the results?"
    if limits:
        yield Question(CLAIMS, "limits", text, limits, "table validity, model cards", "A1", "2")
    else:
        yield unknown(CLAIMS, "limits", text, "Not known to a run: its config asks for no validity.", "A1", "2")
    yield unknown(CLAIMS, "risks", "whom could it harm, and what was done against that?", AUTHORS, "A2", "10, 11")
    yield unknown(CLAIMS, "proofs", "are theorems stated with assumptions and proofs?", "The run proves none.", "", "3")


def _models(known: Known) -> Iterator[Question]:
    size = dict(zip([id(model) for model in known.models], known.parameters, strict=True))
    for section, kind in KINDS.items():
        found = [
            Answer(
                f"{many(size[id(model)])} ({model['family']}, {'trained here' if model['job'] else 'imported'})",
                model["name"],
            )
            for model in known.models
            if model["section"] == section
        ]
        if found:
            yield Question(MODELS, f"size of {section}", f"how large is each {kind}?", found, CARDS, "C1", "8")
    ends = known.trainings
    if not ends:
        yield unknown(MODELS, "training", "how was each model trained?", "The run trains no model.", "C2, C3", "6, 7")
        return
    several = [model for model in ends if model["trainings"] and model["name"] == model["trainings"][0]]
    alone = [model for model in ends if not model["trainings"]]
    said = [Answer(trainings(len(model["trainings"])), model["name"]) for model in several]
    said += [Answer(f"{trainings(1)} each: {', '.join(model['name'] for model in alone)}")] if alone else []
    yield Question(MODELS, "trainings", "how often was each model trained?", said, CARDS, "C3", "7")
    seeds = Counter(known.seeds.values())
    said = [Answer(trainings(count), f"seed {seed}") for seed, count in sorted(seeds.items())]
    said.append(Answer(f"seed {known.run['seed']}, of the config", "everything else that is drawn"))
    yield Question(MODELS, "seeds", "which seeds were used?", said, CARDS, "C3", "4, 7")
    text = "what are the hyper-parameters of each training?"
    said = [Answer(f"as the card of each of the {len(known.trained)} trained models lists them")]
    yield Question(MODELS, "hyper-parameters", text, said, CARDS, "C2", "6")
    yield _search(known)
    text = "how do the kept weights do on validation data?"
    validated = {name: found for name, found in known.validated.items() if found}
    said = [Answer(validation_text(found), name.partition("/")[2]) for name, found in validated.items()]
    others = sum(f"{model['section']}/{model['name']}" not in validated for model in ends)
    said += [Answer(f"{trainings(others)} without validation: the last weights count")] if others else []
    yield Question(MODELS, "validation", text, said, TRAINING_LOG, "C2", "6")


def _search(known: Known) -> Question:
    """Return the question on hyper-parameter search.

    How the values in the config were chosen before the run is not known.
    """
    text = "how were hyper-parameters searched for, and within which bounds?"
    said = [Answer("none: the run trains models by the values of its config alone", "models")]
    for captioner, rows in known.searches.items():
        said.append(Answer(_probe_search(rows), f"neural probe of {captioner}"))
    said.append(Answer("not known to a run: how the config's values were found", "before the run"))
    return Question(MODELS, "search", text, said, paths.of_captioner("probes", "search"), "C2", "6")


def _probe_search(rows: Sequence[Row]) -> str:
    """Return a sentence on how the settings of a neural probe were chosen. `rows` are rows of SEARCH."""
    tried = [f"hidden layers {row['hidden']}, alpha {row['alpha']:g}" for row in rows]
    best = min(range(len(rows)), key=lambda place: rows[place]["rank"])
    if (f1 := rows[best]["macro_f1"]) is None:
        return f"none: {tried[best]}, as in Cafagna et al. 2022, appendix D"
    by = "by macro F1 in a cross-validation on training images"
    return f"{len(rows)} settings tried {by} ({'; '.join(tried)}); chosen {tried[best]}, macro F1 {f1:.3f}"


def _compute(known: Known) -> Iterator[Question]:
    devices = Counter(str(row["device"] or "unknown device") for row in known.costs)
    if not devices:
        why = "Not known: no job of this run was measured on this machine."
        yield unknown(COMPUTE, "cost", "on what did it run, and how long?", why, "C1", "8")
        return
    said = [Answer(f"{many(count)} jobs", device) for device, count in devices.most_common()]
    memory = max(row["memory_mb"] or 0.0 for row in known.costs)
    said.append(Answer(f"{memory:.0f} MB", "most memory of a job"))
    on_gpu = max(row["gpu_memory_mb"] for row in known.costs)
    said += [Answer(f"{on_gpu:.0f} MB", "most memory of a job on a GPU")] if on_gpu else []
    yield Question(COMPUTE, "infrastructure", "on what did it run?", said, "table cost", "C1", "8")
    training = [row for row in known.costs if row["rule"] in known.training_rules]
    said = [_hours(known.costs, "all jobs"), _hours(training, "trainings of models among them")]
    yield Question(COMPUTE, "device hours", "how long did it compute?", said, "table cost", "C1", "8")
    why = "Not known to a run: a job counts as it ran last, and earlier runs do not count."
    yield unknown(COMPUTE, "other attempts", "what did runs cost that are not reported?", why, "C1", "8")
    why = "Not measured; device and hours are above."
    yield unknown(COMPUTE, "energy", "how much energy did it take?", why, "C1", "8")


def _hours(rows: Iterable[Row], of: str) -> Answer:
    """Return times summed over jobs. Some of the jobs may have run at once."""
    summed = {key: sum(row[key] or 0.0 for row in rows) for key in ("seconds", "cpu_seconds", "gpu_seconds")}
    gpu = f"{clock(summed['gpu_seconds'])} of GPU" if summed["gpu_seconds"] else "no GPU"
    return Answer(f"{clock(summed['seconds'])} of jobs, {clock(summed['cpu_seconds'])} of processors, {gpu}", of)


def _data(known: Known) -> Iterator[Question]:
    said = []
    for corpus, found in known.counts.items():
        splits = (f"{s} {many(n)} images, {many(found.captions[s])} captions" for s, n in found.images.items())
        said.append(Answer("; ".join(splits), corpus))
    text = "how many images and captions has each split?"
    yield Question(DATA, "statistics", text, said, paths.corpus("images"), "B6", "6")
    reasons = {
        corpus: ", ".join(f"{many(count)} {reason}" for reason, count in found.rejects.items()) or "nothing"
        for corpus, found in known.counts.items()
    }
    text = "what was left out, and why?"
    yield Question(DATA, "left out", text, _alike(reasons), paths.corpus("rejects"), "B6", "6")
    said = _alike({name: licences(corpus) for name, corpus in known.corpora.items()})
    text = "whose are the data, and what do their licences allow?"
    yield Question(DATA, "licences of data", text, said, "resources/sources.yaml, docs/data.md", "B1, B2", "12")
    imported = [model for model in known.models if not model["job"]]
    text = "whose are the weights that were taken from elsewhere, and under which licence?"
    said = _alike({model["name"]: _licences(model) for model in imported})
    said = said or [Answer("none: no weights come from elsewhere")]
    yield Question(DATA, "licences of weights", text, said, "resources/sources.yaml, docs/data.md", "B1, B2", "12")
    said = [Answer(f"a card beside the weights of each of the {len(known.trained)} models trained here")]
    if known.trained:
        yield Question(DATA, "new assets", "is what was made documented?", said, CARDS, "B5", "13")
    else:
        why = "The run trains no model; its tables say of each number what it is of."
        yield unknown(DATA, "new assets", "is what was made documented?", why, "B5", "13")
    why = AUTHORS
    if known.corpora and all(corpus["toy"] for corpus in known.corpora.values()):
        why = "Not applicable: images are drawings and captions are made by a program; nobody is in them."
    text = "is somebody named or shown in the data, or offended by them?"
    yield unknown(DATA, "persons in data", text, why, "B4", "9")
    yield unknown(
        DATA, "intended use", "is the use of data and models one that they were made for?", AUTHORS, "B3", "9"
    )


def _alike(texts: Mapping[str, str]) -> list[Answer]:
    """Return the answers; items with the same text share an answer."""
    return [
        Answer(text, ", ".join(n for n, of in texts.items() if of == text)) for text in dict.fromkeys(texts.values())
    ]


def _licences(model: Row) -> str:
    found = [f"{source['what']}: {source['licence']}" for source in model["sources"]]
    return "; ".join(found) or "unknown: resources/sources.yaml knows none of its files"


def _evaluation(known: Known) -> Iterator[Question]:
    said = [Answer(text, table) for table, text in known.metrics.items()]
    said += [Answer(f"{library} {version}") for library, version in known.run.get("versions", {}).items()]
    text = "which implementations and versions of metrics and packages were used?"
    yield Question(EVALUATION, "metrics", text, said, f"docs/fidelity.md, {paths.PROVENANCE}/", "C4", "6")
    said = []
    for name, evaluation in known.evaluations.items():
        splits = ", ".join(f"{corpus} ({split})" for corpus, split in evaluation["splits"].items())
        settings = flat_parameters(known.decodings.get(evaluation["decoding"], {}))
        decoded = ", ".join(f"{key} {value}" for key, value in settings.items()) or "captions are given"
        said.append(Answer(f"{evaluation['decoding']} ({decoded}), on {splits}", name))
    text = "on which images, and by which decoding, was each evaluation made?"
    yield Question(EVALUATION, "decoding", text, said, "table evaluation", "C2", "6")
    tests = Counter(str(row["test"]) for row in known.comparisons if row["test"])
    said = [Answer(INTERVALS.rstrip(".")), Answer(f"{many(RESAMPLES)} bootstrap samples")]
    said += [Answer(f"{many(count)} comparisons", test) for test, count in tests.most_common()]
    text = "what are the intervals and the tests?"
    yield Question(EVALUATION, "intervals and tests", text, said, "table evaluation, docs/fidelity.md", "C3", "7")
    text = "does it come out the same again?"
    said = [
        Answer("every job is given its seed and one number of threads; on a processor of the same kind, with the same "
               "versions, a training ends with the same bytes"),
        Answer("not promised: sums on a GPU may be in another order", "on a GPU"),
    ]  # fmt: skip
    yield Question(EVALUATION, "randomness", text, said, "docs/architecture.md", "C3", "4")


def _people(known: Known) -> Iterator[Question]:
    said = []
    for who, rows in known.participants.items():
        excluded = {row["participant"] for row in rows if row["excluded"]}
        number = many(len({row["participant"] for row in rows}))
        kind = "simulated participants, who are no people" if who == "simulated" else "participants"
        said.append(Answer(f"{number} {kind}; {len(excluded)} of them left out, who missed more than one control", who))
    for name, simulated in known.judgements.items():
        said.append(Answer("simulated judges, who are no people" if simulated else "judges of the data set", name))
    if known.participants and known.excluded_images is None:
        said.append(Answer("none: the config names no list of images that nobody is shown", "images left out"))
    elif known.participants:
        said.append(Answer(f"{known.excluded_images}, as the config lists them", "images left out"))
    text = "who took part, and whose answers were left out?"
    if said:
        yield Question(PEOPLE, "participants", text, said, paths.answers("participants"), "D5", "14")
    else:
        yield unknown(PEOPLE, "participants", text, "Nobody took part.", "D5", "14")
    text = "what were they told?"
    if known.participants:
        shown = [Answer("the page as it was shown, with instructions")]
        yield Question(
            PEOPLE, "instructions", text, shown, f"{paths.study('web')}/index.html, docs/study.md", "D1", "14"
        )
    else:
        yield unknown(PEOPLE, "instructions", text, "Nobody was asked anything.", "D1", "14")
    people = "people" in known.participants or not all(known.judgements.values())
    why = AUTHORS if people else NOBODY
    for name, text, acl, neurips in (
        ("payment", "how were they found, and what were they paid?", "D2", "14"),
        ("consent", "did they agree to what is done with their answers?", "D3", "14"),
        ("ethics board", "did an ethics board approve?", "D4", "15"),
    ):
        yield unknown(PEOPLE, name, text, why, acl, neurips)


def _code(known: Known) -> Iterator[Question]:
    software, run = known.software, known.run
    said = [
        Answer(f"{software['repository-code']}, version {software['version']}, licence {software['license']}"),
        Answer(str(run["commit"]), "commit"),
    ]
    yield Question(CODE, "code", "where is the code?", said, "README.md", "C4", "5")
    said = [
        Answer(f"snakemake --cores all {paths.TABLES}/, with the config {run['config']!r} and seed {run['seed']}"),
        Answer("what each file was made from: python -m captionlab.jobs.tracing FILE"),
    ]
    yield Question(
        CODE, "how to repeat it", "how is it made again?", said, "docs/tracing.md, CITATION.cff", "C2", "4, 5"
    )
    yield unknown(CODE, "code of ethics", "does it follow the code of ethics of the venue?", AUTHORS, "", "9")
    yield unknown(CODE, "AI assistants", "were assistants or language models used, and for what?", AUTHORS, "E1", "16")
