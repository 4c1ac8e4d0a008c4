"""The study's part of the config: what its jobs read, and what they depend on. All is empty where there is no study."""

from collections.abc import Iterator

from captionlab import paths
from captionlab.config.papers import listed
from captionlab.workflow.basis import Basis, Loaded, Part, Wildcards
from captionlab.workflow.blocks import Block, captioner_kind
from captionlab.workflow.embedding import Embedding
from captionlab.workflow.report import Page


class Study(Part):
    """The study that a config declares."""

    def __init__(self, basis: Basis, embedding: Embedding):
        super().__init__(basis, "study")
        self.embedding = embedding
        # What finds neighbours and checks controls, and what drives the simulated participants, of whom there are some.
        self.encoder, simulated = self.config.get("encoder"), self.config.get("simulated", {})
        self.simulating, self.number_simulated = simulated.get("retriever"), simulated.get("participants", 0)

    def block(self) -> Block:
        """What the choice of the screens depends on, names aside."""
        kept = ("block", "controls", "max_similarity", "sets")
        return {key: self.config[key] for key in kept if key in self.config}

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

    def loaded(self, encoder: str | None) -> Loaded:
        """What a script loads that uses an encoder."""
        return self.embedding.loaded(listed(encoder or []))

    def seen(self, encoder: str | None) -> dict[str, str | list[str]]:
        """By name config and weights of an encoder, and its feature tables of the corpus."""
        if not encoder:
            return {"features": []}
        files = {
            "config": paths.encoder("config.json", encoder),
            "weights": paths.encoder("model.safetensors", encoder),
        }
        return {**files, "features": self.embedding.features(encoder, self.config["corpus"])}

    def data(self, key: str) -> list[str]:
        """The file, or the files, that the block names under a key."""
        return [self.basis.given(path) for path in listed(self.config.get(key, []))]

    def responses(self, wildcards: Wildcards) -> list[str]:
        """Files of answers: of people as the config names them, or of simulated participants."""
        return [paths.SIMULATED_RESPONSES] if wildcards.participants == "simulated" else self.data("responses")

    def participants(self) -> list[str]:
        """Whose answers are analysed."""
        return [kind for kind, key in (("people", "responses"), ("simulated", "simulated")) if self.config.get(key)]

    def tables(self, table: str) -> list[str]:
        """A table of each of them."""
        return [paths.answers(table, who) for who in self.participants()]

    def results(self) -> list[str]:
        """What the study makes for people to use."""
        return [paths.study("web"), paths.study("psychopy"), paths.study("review.html")] if self.config else []

    def pages(self) -> Iterator[Page]:
        """Pages that people open of a study in which somebody took part: what tables need is made for them already."""
        if self.participants():
            sentence = "Every set of images, to look through before anybody is shown them."
            yield Page("Sets of images of the study", sentence, paths.study("review.html"))
            yield Page(
                "The study", "What participants see, ready for any static server.", paths.study("web"), "index.html"
            )

    def files(self) -> Iterator[tuple[str, str]]:
        """The files that the block names, by their keys."""
        for key in ("exclude", "consent", "responses"):
            yield from ((f"study.{key}", path) for path in listed(self.config.get(key, [])))
