"""Train a captioner of any family by any objective, from scratch or from a parent, as a rule requests it."""

import copy
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import torch

from captionlab.captioners.adapters import merge_adapters
from captionlab.captioners.captioner import Captioner
from captionlab.captioners.store import save_captioner
from captionlab.config.evaluations import Decoding, read_decoding
from captionlab.evaluation.cider import CiderD
from captionlab.generation.decoding import decode
from captionlab.jobs.processes import is_first
from captionlab.jobs.scripting import device, folder_of
from captionlab.networks.tokenizer import Tokenizer
from captionlab.plugins import defined
from captionlab.storage.files import replacing_folder
from captionlab.storage.schemas import TRAINING
from captionlab.storage.tables import read_table, write_table
from captionlab.training.loop.batches import Batches, ImageBatch
from captionlab.training.loop.checkpoints import Changing, Training, remove
from captionlab.training.loop.data import TrainingData, references, training_images
from captionlab.training.loop.examples import Examples
from captionlab.training.loop.trainer import Objective, Snapshot, Validation, train

# Number of images whose captions are logged at each validation.
EXAMPLES = 8


def train_captioner(
    captioner: Captioner[Any],
    tokenizer: Tokenizer,
    data: TrainingData,
    training: Training,
    training_captions: str,
    snapshots: str,
) -> None:
    """Train a captioner by the objective of a config, and write its files.

    The files are the weights and the log of `training`, the captions of examples at each validation in
    `training_captions`, and a folder for each snapshot in `snapshots`. Checkpoints stay in results/state until all
    files are in place.
    """
    config = training.params["config"]
    data = replace(data, captioner=captioner, tokenizer=tokenizer)
    build = defined("training.objectives", config["objective"]["kind"], "build")
    objective, batches = build(config["objective"], data)
    validation, examples = None, Examples()
    if chosen := config.get("validation"):
        ids, decoding = training_images(data.images, chosen["split"]), read_decoding(chosen["decoding"])
        score = CiderOfCaptions(data.visual_of(ids), references(data.captions, ids), tokenizer, decoding)
        examples = examples_of(objective, batches, data, decoding)
        validation = Validation(score, chosen["every"], "cider", chosen["select"], examples)
    captioner.to(device())
    reached = train(captioner, objective, batches, config["optimizer"], validation=validation, **training.options())
    if is_first():
        examples.write(training_captions)
        with replacing_folder(Path(snapshots)) as folder:
            for snapshot in reached:
                _write_snapshot(training, captioner, tokenizer, snapshot, folder / str(snapshot.number))
        save_trained(training, captioner, tokenizer, folder_of(training.weights))
        remove(training.state)


def save_trained(
    training: Training, captioner: Captioner[Any], tokenizer: Tokenizer, folder: Path, **origin: Any
) -> None:
    """Write a trained captioner. If `lora.merge` is set, merge its adapters into the weights first, in place."""
    # The saved config omits `snapshots`, so that adding a snapshot changes no file of the final captioner.
    config = {key: value for key, value in training.params["config"].items() if key != "snapshots"}
    if config.get("lora", {}).get("merge"):
        merge_adapters(captioner)
    save_captioner(captioner, tokenizer, folder, {"config": config, "seed": training.params["seed"], **origin})


def _write_snapshot(
    training: Training, captioner: Captioner[Any], tokenizer: Tokenizer, snapshot: Snapshot, folder: Path
) -> None:
    """Write the captioner of a snapshot, and the training log up to the snapshot."""
    captioner = copy.deepcopy(captioner)
    Changing(captioner).load_state_dict(snapshot.weights())
    passed = {"epochs": snapshot.number} if "epochs" in training.params["config"]["optimizer"] else {}
    save_trained(training, captioner, tokenizer, folder, snapshot={**passed, "updates": snapshot.updates})
    log = read_table(training.log, TRAINING)
    write_table(folder / Path(training.log).name, TRAINING, log.filter(pc.less_equal(log["step"], snapshot.updates)))


def examples_of(objective: Objective, batches: Batches, data: TrainingData, decoding: Decoding) -> Examples:
    """Return the first images of the first batch as examples, with a function that captions and rewards them.

    A retrieval reward compares with all images of the first batch, as in training. If rewards alternate, the examples
    get the first reward.
    """
    rows = torch.from_numpy(batches.order[0]).to(data.device)
    few = rows[:EXAMPLES]
    batch = ImageBatch(data.visual[few], rows)

    def caption(captioner: Any) -> tuple[list[str], list[float | None]]:
        tokens = decode(captioner, batch.visual, decoding, data.tokenizer).tokens
        captions = data.tokenizer.decode(tokens.tolist())
        return captions, objective.earned(batch, captions)

    chosen = few.tolist()
    return Examples([data.ids[row] for row in chosen], [data.texts[row] for row in chosen], caption)


class CiderOfCaptions:
    """CIDEr of the captions that a captioner gives to a set of images, as pycocoevalcap and the evaluation compute it.

    The references are tokenised by the Penn Treebank tokeniser and counted once. Captions are tokenised word by word,
    and each word is tokenised once. The words of the captioner's vocabulary are tokenised together with the references,
    other words when they first occur. (Tokenising a whole caption could only differ at an abbreviation before a full
    stop.)
    """

    def __init__(
        self,
        visual: torch.Tensor,
        references: Sequence[Sequence[str]],
        tokenizer: Tokenizer,
        decoding: Decoding,
        batch: int = 250,
    ):
        """Tokenise and count `references`, the texts of each image of `visual` (images, ...).

        The images are captioned in batches of `batch`.
        """
        # Imported here because it runs Java, which no other training needs.
        from captionlab.evaluation.ptb import tokenize

        self.visual, self.tokenizer, self.decoding, self.batch = visual, tokenizer, decoding, batch
        self.tokenize = tokenize
        texts = [text for of_image in references for text in of_image]
        vocabulary = tokenizer.decode([[token] for token in range(tokenizer.size)])
        words = sorted({word for text in vocabulary for word in text.split()})
        tokenized = iter(tokenize([*texts, *words]))
        kept = [[tokens for _ in of_image if (tokens := next(tokenized).split())] for of_image in references]
        self.cider = CiderD(kept)
        self.tokens = {word: next(tokenized).split() for word in words}

    def __call__(self, captioner: Any) -> float:
        """Return the mean CIDEr over the images, 0 to 10."""
        captions: list[str] = []
        for visual in self.visual.split(self.batch):
            decoded = decode(captioner, visual, self.decoding, self.tokenizer)
            captions += self.tokenizer.decode(decoded.tokens.tolist())
        words = [caption.split() for caption in captions]
        if new := sorted({word for caption in words for word in caption} - self.tokens.keys()):
            self.tokens |= {word: tokens.split() for word, tokens in zip(new, self.tokenize(new), strict=True)}
        tokens = [[token for word in caption for token in self.tokens[word]] for caption in words]
        return float(self.cider.score(range(len(captions)), tokens).mean())
