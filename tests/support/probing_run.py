"""A made-up run for the tests of the probing paper's tables: a few images, captions with a manner, simple scorers.

A scorer likes nouns that the image has (ten points each), dislikes wrong ones, and has a favourite word.
"""

import io
import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from PIL import Image
from support.figure_checks import figure_files
from support.paper_jobs import drawings, run_paper, table_files

from captionlab.evaluation.metrics.clipscore.metric import SCORES as CLIPSCORES
from captionlab.evaluation.metrics.nlg.metric import METEOR_STATISTICS, NLG
from captionlab.language.following import pattern_rows, read_patterns
from captionlab.language.patterns import tagged as words_tagged
from captionlab.language.schemas import MEASURES, NGRAMS, PATTERNS
from captionlab.reporting.tables.figures import Draw
from captionlab.scorers.schemas import MATCHING
from captionlab.storage.schemas import ALIGNMENT, CAPTIONS, GENERATED, IMAGES, TAGGED
from captionlab.storage.tables import TableSchema, read_table, write_table

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "workflow" / "scripts"
# The tables and figures of the paper.
TABLES = [
    "table1_choices", "table2_scores", "table3_examples", "table4_statistics", "table5_patterns", "table6_constructed",
    "table7_templates", "figure1_patterns", "figure2_replacements", "figure3_visual_words", "figure4_unigrams",
    "figure4_words", "rewards", "generalisation", "matching",
]  # fmt: skip
FIGURES = ["figure1_patterns", "figure2_replacements", "figure3_visual_words", "figure4_unigrams"]
CORPUS, EVALUATION = "toy-coco", "probing"
THINGS = ("dog", "cat", "boat", "horse", "tree", "house", "bird", "table", "car", "ball")
FAVOURITE = {"toy-uniter": "of", "toy-clip": "near"}
SCORERS: dict[str, dict[str, Any]] = {
    "toy-uniter": {"label": "UNITER", "factor": 100.0, "bounds": (0.0, 100.0)},
    "toy-clip": {"label": "CLIP", "factor": 1.0, "bounds": (-100.0, 100.0)},
}
ROLES = {
    "CE": ["ce-1", "ce-2"],
    "CLIP": ["clip-1", "clip-2"],
    "UNITER": ["uniter-1", "uniter-2"],
    "UNITER + KL": ["kl-1"],
}
PARENTS = {"clip-1": "ce-1", "clip-2": "ce-2", "uniter-1": "ce-1", "uniter-2": "ce-2", "kl-1": "ce-1"}
REWARDS = {"CE": [], "CLIP": ["CLIP"], "UNITER": ["UNITER"], "UNITER + KL": ["UNITER"]}
ENCODERS = {"CE": [], "CLIP": ["clip-b"], "UNITER": [], "UNITER + KL": []}
OBJECTIVES = {
    "CE": {"kind": "cross-entropy"},
    "CLIP": {"kind": "self-critical", "reward": {"kind": "scorer", "scorer": "toy-clip"}},
    "UNITER": {"kind": "self-critical", "reward": {"kind": "scorer", "scorer": "toy-uniter"}},
    "UNITER + KL": {"kind": "self-critical", "reward": {"kind": "scorer", "scorer": "toy-uniter"}, "kl": 0.1},
}
BLOCK = {
    "comparable": False,
    "evaluation": EVALUATION,
    "captioners": ROLES,
    "corpora": {"COCO": CORPUS},
    "scorers": {"UNITER": "toy-uniter", "CLIP": "toy-clip"},
    "constructed": "made",
}
PLOTTED: dict[str, Any] = {"config": BLOCK, "roles": list(ROLES), "cosines": {"CLIP": 100.0}}
JOB = {"evaluation": EVALUATION, "decoding": "greedy", "splits": {CORPUS: "test"}}
IDS = [f"image {number:02d}" for number in range(30)]
TAGS = {
    **dict.fromkeys(("a", "the"), "DET"),
    **dict.fromkeys(("of", "near", "on"), "ADP"),
    **dict.fromkeys(("and",), "CCONJ"),
    **dict.fromkeys(("that",), "PRON"),
    **dict.fromkeys(("is",), "AUX"),
}


def things(number: int) -> list[str]:
    """What is in an image."""
    return [THINGS[(number * step + step) % len(THINGS)] for step in (1, 3, 7)]


def caption(captioner: str, number: int) -> str:
    """A caption in the manner of the captioner's role; trainings differ in a few."""
    first, second, third = things(number)
    if captioner == "ce-2" and number % 7 == 0:
        return f"the {first} near a {second}"
    if captioner == "uniter-2" and number % 5 == 0:
        third = second
    return {
        "ce": f"a {first} on a {second}" if number % 10 else "a near",
        "clip": f"a image image of a {first} near a {second} near a {third}",
        "uniter": f"a {first} {first} of the {second} {third}",
        "kl": (f"a {first} of the {second}", f"a {first} a {second}", f"a {first} and a {second}")[number % 3],
    }[captioner.split("-")[0]]


def score(scorer: str, text: str, number: int) -> float:
    """The scorer's opinion of a caption."""
    words = text.split()
    right = 10.0 * len(set(words) & set(things(number))) - 5.0 * len((set(words) & set(THINGS)) - set(things(number)))
    points = 30.0 + right + 2.0 * words.count(FAVOURITE[scorer]) + number % 3
    return points / SCORERS[scorer]["factor"]


def table(path: Path, kind: TableSchema, rows: list[dict[str, Any]], device: str = "abacus") -> str:
    """Write a table of rows."""
    write_table(path, kind, {name: [row[name] for row in rows] for name in kind.columns}, {"device": device})
    return str(path)


def key(number: int, index: int = 0) -> dict[str, Any]:
    return {"corpus": CORPUS, "image_id": IDS[number], "caption_index": index}


def tags_of(text: str) -> dict[str, list[str]]:
    words = text.split()
    return {"words": words, "lemmas": words, "tags": [TAGS.get(word, "NOUN") for word in words]}


def clipscore(captioner: str) -> dict[str, Any]:
    """What an encoder says of each caption: it likes those that were trained on CLIP, and knows no references."""
    likes = {"metric": "CLIPScore", "encoder": "clip-b", "score": 0.75 if captioner.startswith("clip") else 0.5}
    return {**likes, "with_references": None, "tokens_left_out": 0}


def alignment(path: Path, captions: list[tuple[int, int, str]]) -> str:
    """Scores of captions: number of the image, index, text."""
    return table(
        path,
        ALIGNMENT,
        [
            {**key(number, index), "scorer": scorer, "score": score(scorer, text, number)}
            for number, index, text in captions
            for scorer in SCORERS
        ],
    )


def nlg_rows(captioner: str) -> list[dict[str, Any]]:
    """Return the scores of a captioner against references, the same for each image."""
    # Both of 20 words, of which one matches in each way.
    meteor = [20.0, 20.0] + [1.0] * (METEOR_STATISTICS - 2)
    one = {"rouge_l": 0.5, "cider": 1.0 / len(captioner), "meteor": 0.1, **{f"bleu_{n}": 0.1 for n in range(1, 5)}}
    one |= {"bleu_counts": [4, 4, 4, 3, 2, 1, 2, 1, 1, 1], "meteor_statistics": meteor}
    return [{"captioner": captioner, **key(number), **one} for number in range(len(IDS))]


def run_script(name: str, **job: Any) -> None:
    """Run a script as Snakemake would."""
    spaces = {key: SimpleNamespace(**value) if isinstance(value, dict) else value for key, value in job.items()}
    runpy.run_path(str(SCRIPTS / f"{name}.py"))["main"](SimpleNamespace(**spaces))


class Made:
    """The tables of a made-up run below a folder, up to those that the scripts of the paper read."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.captioners = sorted(name for names in ROLES.values() for name in names)
        self.paths: dict[str, dict[str, str]] = {}
        for captioner in self.captioners:
            texts = [caption(captioner, number) for number in range(len(IDS))]
            self.paths[captioner] = self._tables(captioner, texts)
        self.nlg = table(folder / "nlg.parquet", NLG, [row for name in self.captioners for row in nlg_rows(name)])
        self.images = self._images()
        accuracy = {
            "split": "test",
            "negatives": "hard",
            "measure": "ranking",
            "ci_low": 0.88,
            "ci_high": 0.91,
            "n": 50,
        }
        self.matching = table(folder / "matching.parquet", MATCHING, [{**accuracy, "value": 0.9}])
        self.references = table(
            folder / "references.parquet",
            CAPTIONS,
            [
                {"image_id": IDS[n], "caption_index": index, "caption": text}
                for n in range(len(IDS))
                for index, text in enumerate(self._texts(n))
            ],
        )

    def of(self, what: str, captioners: list[str] | None = None) -> list[str]:
        """A table of each captioner."""
        return [self.paths[name][what] for name in captioners or self.captioners]

    def construct(self, **config: Any) -> None:
        """Constructed captions of ce-1 and their scores, as the captioner `made`."""
        captions, constructions = (str(self.folder / f"made {what}.parquet") for what in ("captions", "constructions"))
        run_script(
            "construct_captions",
            input={
                "captions": self.paths["ce-1"]["captions"],
                "tags": self.paths["ce-1"]["tags"],
                "images": [self.images],
                "references": [self.references],
                "mined": self.of("tags", ["clip-1", "uniter-1"]),
                "templates": str(ROOT / "config" / "published" / "probing_templates.csv"),
            },
            output={"captions": captions, "constructions": constructions},
            params={
                "config": config, "corpora": [CORPUS], "splits": ["test"], "mined": ["CLIP", "UNITER"],
                "tagger": "en_ewt_sm", "seed": 3,
            },
        )  # fmt: skip
        made = [
            (IDS.index(row["image_id"]), row["caption_index"], row["caption"])
            for row in read_table(captions, GENERATED).to_pylist()
        ]
        scores = alignment(self.folder / "made scores.parquet", made)
        self.paths["made"] = {"captions": captions, "constructions": constructions, "alignment": scores}

    def summarise(self) -> tuple[str, str]:
        """Tables of values and of differences."""
        values, differences = (str(self.folder / f"{what}.parquet") for what in ("values", "differences"))
        run_paper(
            "summarise", "probing",
            {
                **{what: self.of(what) for what in ("captions", "alignment", "measures", "tags", "patterns")},
                "nlg": self.nlg,
                "spice": [],
                "constructions": self.of("constructions", ["made"]),
                "constructed": self.of("alignment", ["made"]),
                "originals": self.of("alignment", ["ce-1"]),
                "metric_clipscore": self.of("clipscore"),
            },
            {"values": values, "differences": differences}, metrics=["clipscore"],
            job=JOB, captioners=self.captioners, roles=ROLES, parents=PARENTS, rewards=REWARDS,
            rewarding_encoders=ENCODERS, scorers=SCORERS, seed=1,
        )  # fmt: skip
        return values, differences

    def collect(self, values: str, differences: str) -> dict[tuple[str, str], str]:
        """Text of each table of the paper in each format."""
        first = [names[0] for names in ROLES.values()]
        outputs = table_files(self.folder / "tables", [f"probing_{name}" for name in (*TABLES, "effects")])
        run_paper(
            "tabulate", "probing",
            {
                **self._measured(values, differences),
                "captions": self.of("captions", first),
                "alignment": self.of("alignment", first),
                "constructed": self.of("captions", ["made"]),
                "constructions": self.of("constructions", ["made"]),
                "constructed_alignment": self.of("alignment", ["made"]),
                "originals": self.of("captions", ["ce-1"]),
                "original_alignment": self.of("alignment", ["ce-1"]),
                "images": [self.images],
                "matching": [self.matching],
            },
            {"tables": list(map(str, outputs.values()))},
            config=BLOCK, job=JOB, roles=list(ROLES), corpora=[CORPUS], scorers=SCORERS, cosines=PLOTTED["cosines"],
            trained_scorers=["toy-uniter"], metrics=["clipscore"], rewards=REWARDS,
            rewarding_encoders=ENCODERS, objectives=OBJECTIVES,
        )  # fmt: skip
        return {key: path.read_text(encoding="utf-8") for key, path in outputs.items()}

    def plot(self, values: str, differences: str) -> dict[str, list[Path]]:
        """The files of the figures of the paper."""
        outputs = figure_files(self.folder, [f"probing_{name}" for name in FIGURES])
        run_paper("plot", "probing", self._shown(values, differences), outputs, **PLOTTED)
        return outputs

    def drawings(self, values: str, differences: str) -> dict[str, Draw]:
        """What draws them."""
        return drawings("probing", self._shown(values, differences), **PLOTTED)

    def _shown(self, values: str, differences: str) -> dict[str, Any]:
        tags = self.of("tags", [names[0] for names in ROLES.values()])
        return {**self._measured(values, differences), "tags": tags}

    def _measured(self, values: str, differences: str) -> dict[str, Any]:
        first = [names[0] for names in ROLES.values()]
        return {
            "values": values, "differences": differences, "patterns": self.of("patterns", first),
            "unigrams": self.of("unigrams", first),
        }  # fmt: skip

    def _texts(self, number: int) -> list[str]:
        first, second, third = things(number)
        return [f"A {first} near the {second}.", f"a {third} on a {THINGS[number % 10]} that is a {first}"]

    def _tables(self, captioner: str, texts: list[str]) -> dict[str, str]:
        place = self.folder / captioner
        numbered = list(enumerate(texts))
        unknown = {"log_prob": None, "confidence": None}
        tagged = [{**key(n), **tags_of(text)} for n, text in numbered]
        counts = [
            (len(row["words"]), [w for w, t in zip(row["words"], row["tags"], strict=True) if t == "NOUN"])
            for row in tagged
        ]
        measures = [
            {
                **key(n), "words": length, "repeated": 0, "unknown": 0, "impossible": 0, "perplexity": 9.0,
                "log_prob": -0.5 * length - n % 2, "nouns": len(nouns), "distinct_nouns": len(set(nouns)),
            }
            for n, (length, nouns) in enumerate(counts)
        ]  # fmt: skip
        words = sorted({word for text in texts for word in text.split()})
        found = {
            "captions": table(
                place / "captions.parquet",
                GENERATED,
                [{**key(n), "caption": text, **unknown} for n, text in numbered],
                device="typewriter",
            ),
            "tags": table(place / "tags.parquet", TAGGED, tagged),
            "alignment": alignment(place / "alignment.parquet", [(n, 0, text) for n, text in numbered]),
            "clipscore": table(
                place / "clipscore.parquet", CLIPSCORES, [{**key(n), **clipscore(captioner)} for n, _ in numbered]
            ),
            "measures": table(place / "measures.parquet", MEASURES, measures),
            "unigrams": table(
                place / "unigrams.parquet",
                NGRAMS,
                [
                    {
                        "corpus": CORPUS,
                        "unit": "word",
                        "n": 1,
                        "ngram": word,
                        "rank": rank,
                        "count": 9,
                        "share": 0.2 / rank,
                    }
                    for rank, word in enumerate(words, 1)
                ],
            ),
            "patterns": str(place / "patterns.parquet"),
        }
        published = read_patterns(ROOT / "config" / "published" / "probing_patterns.csv")
        said = [words_tagged(row["words"], row["tags"]) for row in tagged]
        table(place / "patterns.parquet", PATTERNS, pattern_rows(CORPUS, said, published))
        return found

    def _images(self) -> str:
        rows = []
        for number, image_id in enumerate(IDS):
            stream = io.BytesIO()
            Image.new("RGB", (40, 30), (8 * number, 100, 50)).save(stream, "PNG")
            rows.append(
                {
                    "image_id": image_id, "position": number, "split": "test", "path": None, "data": stream.getvalue(),
                    "offset": None, "length": None, "width": 40, "height": 30, "image_set": None,
                }
            )  # fmt: skip
        return table(self.folder / "images.parquet", IMAGES, rows)
