"""Files and folders that a config names and that are not there."""

import importlib.util
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from captionlab.config import walking
from captionlab.config.blocks import JUDGED, WRITER, Block, captioner_kind, located
from captionlab.config.families import (
    captioners,
    encoders,
    judgement_readers,
    question_readers,
    score_tables,
    scorers,
)
from captionlab.config.metrics import MetricFacts
from captionlab.config.papers import listed
from captionlab.config.whole import ConfigError
from captionlab.corpora.inputs import input_mistakes
from captionlab.graph.retrieving import Retrieving
from captionlab.graph.scores import environments
from captionlab.graph.tagger import BUNDLED_TAGGER
from captionlab.installation import call
from captionlab.storage import paths
from captionlab.userfiles.reading import absent

# How the names of scripts end.
SCRIPTS = (".py", ".sh", ".R", ".pl", ".jl")
# A key of the config, and a path that stands there.
Named = tuple[str, str]


class MissingFiles:
    """The files and folders that a config names and that are not there.

    `config` was checked. Relative paths start at `data`, models that come with captionlab at `root`.
    """

    def __init__(self, config: Block, data: Path, root: Path):
        self.config, self.data, self.root = config, data, root

    def check(self, retrieving: Retrieving | None) -> None:
        """Raise a ConfigError that lists each missing file or folder once, with all keys that name it.

        What `retrieving` will fetch is not listed; what must be had by hand is, with what to do. Raises a ConfigError
        too if a list of categories could be meant that comes with captionlab or a file of the same name.
        """
        instead = retrieving.said() if retrieving else {}
        keys_of: dict[str, list[str]] = {}
        for key, _, sentence in (mistake.partition(": ") for mistake in self._mistakes()):
            if instead.get(sentence) != "":
                text = f"{sentence}. {instead[sentence]}" if sentence in instead else sentence
                keys_of.setdefault(text, []).append(key)
        if keys_of:
            mistakes = [f"{', '.join(dict.fromkeys(keys))}: {text}" for text, keys in keys_of.items()]
            where = f"files are missing below {self.data}"
            what = f"{where} (docs/data.md says where they come from; {call()} data fetches most)"
            raise ConfigError.listing(what, mistakes)
        if taken := [*self._taken_categories()]:
            raise ConfigError.listing("it is not clear which lists of categories are meant", taken)

    def _mistakes(self) -> Iterator[str]:
        for name, corpus in self.config["corpora"].items():
            if corpus["reader"] not in ("toyworld", JUDGED):
                yield from input_mistakes(corpus, self.data, name)
        folders = {
            f"{section}.{name}.weights"
            for section, known in (("captioners", captioners()), ("encoders", encoders()), ("scorers", scorers()))
            for name, block in self.config[section].items()
            if "run" not in block and block.get("family") in known and known[block["family"]].folder
        }
        models = [*self._named("captioners", "config", "weights", "tokenizer", "captions")]
        models += [*self._named("encoders", "config"), *self._encoder_files()]
        yield from self._missing(self._writer_files(), "file or folder")
        models += self._named("scorers", "config", "weights", "vocabulary", "tokenizer")
        models += self._named("judges", "template")
        others = [*self._analysis_files(), *self._command_files()]
        others += [(f"own_tables.{name}", path) for name, path in self.config["own_tables"].items()]
        yield from self._missing([*(named for named in models if named[0] not in folders), *others])
        yield from self._missing([named for named in models if named[0] in folders], "folder")
        yield from self._missing(self._named("regions", "weights", "files"), "file or folder")
        yield from self._missing(self._named("tags", "files"))
        yield from self._missing(self._named("comparisons", "prompt"))
        yield from self._missing([*self._metric_files(), *self._slice_files()])
        yield from self._missing_taggers()
        yield from self._missing_categories()
        keys = {key for reader in judgement_readers().values() for key in reader.files}
        yield from self._missing(self._named("judgements", *sorted(keys)))
        keys = {key for reader in judgement_readers().values() for key in reader.folders}
        yield from self._missing(self._named("judgements", *sorted(keys)), "folder")
        keys = {key for reader in question_readers().values() for key in reader.files}
        yield from self._missing(self._named("questions", *sorted(keys)))

    def _missing(self, named: Iterable[Named], kind: str = "file") -> list[str]:
        """Return a sentence for each path that is not there and should be a `file`, `folder` or `file or folder`."""
        absences = [(key, absent(located(path, self.data, self.root), kind)) for key, path in named]
        return [f"{key}: {sentence}" for key, sentence in absences if sentence]

    def _named(self, section: str, *keys: str) -> Iterator[Named]:
        """Yield the paths that the blocks of a section name under these keys: one, several, or some by corpus."""
        for name, block in self.config[section].items():
            for key in (key for key in keys if key in block):
                by_corpus = block[key] if isinstance(block[key], dict) else {"": block[key]}
                for corpus, files in by_corpus.items():
                    where = ".".join(filter(None, (section, name, "run" if "run" in block else key, corpus)))
                    yield from ((where, file) for file in listed(files))

    def _encoder_files(self) -> Iterator[Named]:
        """Yield the files that encoders are imported from; with a `model`, open_clip downloads them by their name."""
        keys = dict.fromkeys(key for family in encoders().values() for key in family.files)
        for name, block in self.config["encoders"].items():
            for key in (key for key in keys if key in block and "model" not in block):
                yield f"encoders.{name}.{'run' if 'run' in block else key}", block[key]

    def _writer_files(self) -> Iterator[Named]:
        """Yield the files and folders that captioners name which only write texts."""
        for name, block in self.config["captioners"].items():
            if captioner_kind(block) == WRITER:
                for key in walking.file_keys(walking.section("captioners").under(name), block):
                    yield f"captioners.{name}.{key}", block[key]

    def _analysis_files(self) -> Iterator[Named]:
        model = self.config.get("language", {}).get("model", {})
        if "arpa" in model:
            yield "language.model.arpa", model["arpa"]
        for key in ("exclude", "consent", "responses"):
            for path in listed(self.config.get("study", {}).get(key, [])):
                yield f"study.{key}", path

    def _command_files(self) -> Iterator[Named]:
        """Yield the environments of commands, and the scripts below the folder of data that are words of commands.

        A program that is found on PATH is no such script, nor is what has an absolute path, as in a container.
        """
        for name, block in self.config["metrics"].items():
            key = "conda" if "conda" in block else "venv"
            yield from ((f"metrics.{name}.{key}", path) for path in environments(block))
        for name, block in self.config["metrics"].items():
            program, *words = shlex.split(block["command"])
            for word in [program, *words] if "/" in program else words:
                if word.endswith(SCRIPTS) and not word.startswith(("/", "-")):
                    yield f"metrics.{name}.command", word

    def _metric_blocks(self) -> Iterator[tuple[str, Block, MetricFacts]]:
        """Yield the place and content of each block of an evaluation that asks for a metric, and the metric's facts."""
        for name, evaluation in self.config["evaluations"].items():
            section = "judgements" if name in self.config["judgements"] else "evaluations"
            for facts in score_tables().values():
                for key in (key for key in facts.asks if isinstance(evaluation.get(key), dict)):
                    yield f"{section}.{name}.{key}", evaluation[key], facts

    def _metric_files(self) -> Iterator[Named]:
        """Yield the files that blocks of evaluations name."""
        for place, block, facts in self._metric_blocks():
            yield from ((f"{place}.{key}", block[key]) for key in facts.files if key in block)

    def _slice_files(self) -> Iterator[Named]:
        """Yield the files by whose columns images are sliced."""
        for name, evaluation in self.config["evaluations"].items():
            for place, one in enumerate(evaluation.get("slices") or ()):
                if not isinstance(one, str):
                    yield f"evaluations.{name}.slices.{place}.file", one["file"]

    def _missing_taggers(self) -> Iterator[str]:
        """Yield a sentence for each spaCy model that is not installed."""
        models = [("language.tagger", self.config.get("language", {}).get("tagger", BUNDLED_TAGGER))]
        for place, block, facts in self._metric_blocks():
            models += [(f"{place}.{key}", block[key]) for key in facts.packages if key in block]
        for place, name in models:
            if name != BUNDLED_TAGGER and not importlib.util.find_spec(name):
                download = f"`python -m spacy download {name}`"
                yield f"{place}: the spaCy model {name!r} is not installed; get it by {download}"

    def _missing_categories(self) -> Iterator[str]:
        for name, evaluation in self.config["evaluations"].items():
            if (file := evaluation.get("objects")) and file not in paths.CATEGORIES:
                section = "judgements" if name in self.config["judgements"] else "evaluations"
                for sentence in self._missing([(f"{section}.{name}.objects", file)]):
                    yield f"{sentence}; the lists that come with captionlab are {' and '.join(paths.CATEGORIES)}"

    def _taken_categories(self) -> Iterator[str]:
        """Yield a sentence for each list that comes with captionlab and has the name of a file of the data."""
        asked = {evaluation.get("objects") for evaluation in self.config["evaluations"].values()}
        for name in sorted(asked & paths.CATEGORIES.keys()):
            if (path := self.data / name).exists():
                yield f"{path}: `objects: {name}` is the list that comes with captionlab; rename this file, or move it"
