"""The study's part of the config: what its jobs read, and what they depend on. All is empty where there is no study."""

from collections.abc import Iterator

from captionlab import paths
from captionlab.workflow.basis import Basis, Loaded, Wildcards, listed, on_disk
from captionlab.workflow.blocks import Block, captioner_kind
from captionlab.workflow.embedding import Embedding


class Study:
    """The study that a config declares."""

    def __init__(self, basis: Basis, embedding: Embedding):
        self.basis, self.embedding = basis, embedding
        self.config: Block = basis.config.get("study", {})

    def block(self) -> Block:
        """What the choice of the screens depends on, names aside."""
        kept = ("block", "controls", "max_similarity", "sets")
        return {key: self.config[key] for key in kept if key in self.config}

    def corpus(self) -> str | None:
        """Corpus whose images are shown."""
        return self.config.get("corpus")

    def split(self) -> str | None:
        """Its split that evaluations use."""
        return self.basis.evaluation_split(self.config["corpus"]) if self.config else None

    def captioners(self) -> list[str]:
        """Captioners whose captions are shown."""
        return list(self.config.get("captioners", []))

    def people(self) -> str | None:
        """The one of them that has human captions, which the controls show."""
        return next((n for n in self.captioners() if captioner_kind(self.basis.captioners[n]) == "human"), None)

    def parents(self) -> dict[str, str]:
        """For each of them that was finetuned from another of them, that one."""
        parents = {name: self.basis.captioners[name].get("parent") for name in sorted(self.captioners())}
        return {name: parent for name, parent in parents.items() if parent in parents}

    def captions(self) -> list[str]:
        """Tables of captions, a captioner each."""
        return [paths.captions(name, self.config["evaluation"]) for name in self.captioners()]

    def table(self, table: str) -> list[str]:
        """A table of the corpus."""
        return [paths.corpus(table, self.config["corpus"])] if self.config else []

    def features(self, encoder: str | None) -> list[str]:
        """Feature tables of the corpus by an encoder."""
        return self.embedding.features(encoder, self.config["corpus"]) if encoder else []

    def encoder(self) -> str | None:
        """Encoder that finds neighbours and checks controls."""
        return self.config.get("encoder")

    def simulating(self) -> str | None:
        """Retriever that drives the simulated participants."""
        return self.config.get("simulated", {}).get("retriever")

    def number_simulated(self) -> int:
        """How many simulated participants there are."""
        return int(self.config.get("simulated", {}).get("participants", 0))

    def loaded(self, encoder: str | None) -> Loaded:
        """What a script loads that uses an encoder."""
        return self.embedding.loaded(listed(encoder or []))

    def encoder_files(self, encoder: str | None) -> dict[str, str]:
        """Config and weights of an encoder, by name."""
        files = {"config": "config.json", "weights": "model.safetensors"}
        return {name: paths.encoder(file, encoder) for name, file in files.items()} if encoder else {}

    def data(self, key: str) -> list[str]:
        """The file, or the files, that the block names under a key."""
        return [self.basis.given(path) for path in listed(self.config.get(key, []))]

    def resource(self, file: str) -> str:
        """A file that comes with the workflow."""
        return on_disk(self.basis.root / "resources" / "study" / file)

    def consent(self) -> list[str]:
        """The text that participants agree to."""
        return self.data("consent") or [self.resource("consent.txt")]

    def responses(self, wildcards: Wildcards) -> list[str]:
        """Files of answers: of people as the config names them, or of simulated participants."""
        return [paths.SIMULATED_RESPONSES] if wildcards.participants == "simulated" else self.data("responses")

    def participants(self) -> list[str]:
        """Whose answers are analysed."""
        return [kind for kind, key in (("people", "responses"), ("simulated", "simulated")) if self.config.get(key)]

    def results(self) -> list[str]:
        """What the study makes for people to use."""
        return [paths.study("web"), paths.study("psychopy"), paths.study("review.html")] if self.config else []

    def files(self) -> Iterator[tuple[str, str]]:
        """The files that the block names, by their keys."""
        for key in ("exclude", "consent", "responses"):
            yield from ((f"study.{key}", path) for path in listed(self.config.get(key, [])))
