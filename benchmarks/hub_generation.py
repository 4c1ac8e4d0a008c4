"""Time captions and trainings of a model of the Hugging Face hub against transformers alone, and tables against pixels.

    python benchmarks/hub_generation.py [--images 64] [--tokens 20] [--rounds 3] [--threads 2]

A SmolVLM with random weights: six layers of width 256 for words, and six of width 256 for the 256 patches of an image,
which become 16 vectors (in published SmolVLMs, 1,024 patches become 64). The first comparison is tokens per second of
the captioner and of plain `generate` in one batch, on the same inputs, greedily. The second is seconds for an epoch of
REINFORCE (a sample of each image, its log-probability, an update) by a table of features and by pixels. All take turns
in each round; numbers are medians over rounds.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from PIL import Image

from captionlab.captioners.pictures import Pictures
from captionlab.captioners.prompts import Prompter
from captionlab.captioners.store import import_folder, load_captioner
from captionlab.config.evaluations import Greedy, Sample
from captionlab.encoders.store import import_encoder
from captionlab.generation.decoding import decode
from captionlab.networks import hub

WIDTH, LAYERS, VOCABULARY, SIDE, PATCH, SCALE = 256, 6, 4000, 256, 16, 4
BATCH = 16
SPECIAL = ("<image>", "<fake_token_around_image>", "<global-img>", "<video>")


def write_model(folder: Path) -> None:
    """Write a SmolVLM with random weights that never ends a caption early, and its processor."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import (
        LlamaConfig,
        PreTrainedTokenizerFast,
        SmolVLMConfig,
        SmolVLMForConditionalGeneration,
        SmolVLMImageProcessor,
        SmolVLMProcessor,
    )
    from transformers.models.smolvlm.video_processing_smolvlm import SmolVLMVideoProcessor

    names = ["<pad>", "<unk>", "</s>", *SPECIAL]
    names += [f"w{number}" for number in range(VOCABULARY - len(names))]
    words = Tokenizer(models.WordLevel({name: number for number, name in enumerate(names)}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    marks = {"pad_token": "<pad>", "unk_token": "<unk>", "eos_token": "</s>"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, additional_special_tokens=[*SPECIAL], **marks)
    sizes = {
        "hidden_size": WIDTH,
        "intermediate_size": 4 * WIDTH,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": 8,
    }
    config = SmolVLMConfig(
        vision_config={"image_size": SIDE, "patch_size": PATCH, **sizes},
        text_config=LlamaConfig(vocab_size=VOCABULARY, pad_token_id=0, eos_token_id=2, **sizes).to_dict(),
        image_token_id=names.index("<image>"),
        scale_factor=SCALE,
        pad_token_id=0,
    )
    model = SmolVLMForConditionalGeneration(config)
    never = [2, *map(names.index, SPECIAL)]
    model.generation_config.update(eos_token_id=2, pad_token_id=0, suppress_tokens=never)
    model.save_pretrained(folder)
    images = SmolVLMImageProcessor(size={"longest_edge": SIDE}, max_image_size={"longest_edge": SIDE})
    images.do_image_splitting = False
    seen = (SIDE // PATCH // SCALE) ** 2
    SmolVLMProcessor(images, tokenizer, SmolVLMVideoProcessor(), image_seq_len=seen).save_pretrained(folder)


def seconds(work: Callable[[], object]) -> float:
    """Return the seconds that some work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def medians(ways: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the median seconds of each way to do some work. The ways take turns, after a round that is not timed."""
    found = [{name: seconds(work) for name, work in ways.items()} for _ in range(rounds + 1)][1:]
    return {name: statistics.median(times[name] for times in found) for name in ways}


def epoch(captioner: Any, tokenizer: Any, visual: Any, tokens: int) -> Callable[[], None]:
    """Return a function that trains a captioner for an epoch by REINFORCE, with a reward of 1."""
    optimizer = torch.optim.Adam([value for value in captioner.parameters() if value.requires_grad], lr=1e-5)
    sample = Sample(kind="sample", max_tokens=tokens)

    def train() -> None:
        for part in visual.split(BATCH):
            drawn = decode(captioner, part, sample, tokenizer)
            loss = -captioner.log_probs(part, drawn.tokens, drawn.mask).sum(1).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    return train


def main() -> None:
    """Print the two comparisons as JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for name, default in {"images": 64, "tokens": 20, "rounds": 3, "threads": 2}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    torch.manual_seed(0)
    pixels = np.random.default_rng(0).integers(0, 255, (asked.images, 64, 64, 3), dtype=np.uint8)
    with TemporaryDirectory() as temporary:
        folder = Path(temporary) / "smolvlm"
        write_model(folder)
        block = {"prompt": "<image> w1 w2", "dtype": "float32"}
        captioners = {}
        for reads in ("pixels", "table"):
            import_folder("transformers", folder, folder / reads, {**block, "reads": reads})
            captioners[reads] = load_captioner(folder / reads)
        encoder = import_encoder({"family": "image-side"}, folder)
        model, processor = hub.read_folder(folder)
    images = [Image.fromarray(image) for image in pixels]
    pictures = Pictures(images, Prompter(processor, {"prompt": block["prompt"]}, "decoder"), torch.device("cpu"))
    features = torch.cat([encoder.embed_patches(encoder.preprocess(image)[None]) for image in images])
    captioner, tokenizer = captioners["pixels"]
    greedy = Greedy(kind="greedy", max_tokens=asked.tokens)
    inputs = pictures.inputs  # made once, for both
    generation = medians(
        {
            "captionlab": lambda: decode(captioner, pictures, greedy, tokenizer),
            "generate": lambda: model.generate(**inputs, max_new_tokens=asked.tokens, do_sample=False),
        },
        asked.rounds,
    )
    trained = {
        reads: epoch(*captioners[reads], visual, asked.tokens)
        for reads, visual in (("table", features), ("pixels", pictures))
    }
    training = medians(trained, asked.rounds)
    count = asked.images * asked.tokens
    print(
        json.dumps(
            {
                "tokens a second": {name: round(count / time) for name, time in generation.items()},
                "of generate": round(generation["generate"] / generation["captionlab"], 3),
                "seconds of an epoch": {name: round(time, 2) for name, time in training.items()},
                "pixels to table": round(training["pixels"] / training["table"], 2),
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
