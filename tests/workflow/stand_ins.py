"""Tiny stand-ins for the files that config/paper.yaml expects: the published formats, drawn images, random weights."""

import base64
import json
from collections.abc import Callable
from pathlib import Path

import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from captionlab.features.resnet import build

GOLDEN = Path(__file__).parents[1] / "golden"
WORDS = [
    "a",
    "red",
    "dog",
    "runs",
    "on",
    "the",
    "green",
    "beach",
    "near",
    "two",
    "small",
    "boats",
    "and",
    "one",
    "blue",
    "kite",
    "man",
    "table",
    "cup",
    "street",
    "tree",
    "bird",
    "horse",
]
EMBEDDING = 16  # of the stand-in CLIP
WIDTH = 64  # of every stand-in transformer: one head, as sizes are read off the weights


def sentence(number: int) -> str:
    """A caption without meaning, another one for every number."""
    return " ".join(WORDS[(number * step + step) % len(WORDS)] for step in range(3, 9)).capitalize() + "."


def picture(path: Path, number: int) -> None:
    """A small JPEG, another one for every number."""
    path.parent.mkdir(parents=True, exist_ok=True)
    image = Image.effect_noise((40 + number % 5, 36), 60).convert("RGB")
    image.paste((number * 37 % 256, number * 91 % 256, number * 53 % 256), (4, 4, 30, 20))
    image.save(path, quality=60)


def karpathy(data: Path, name: str, folder: str, splits: dict[str, int], filepath: Callable[[str], str] | None) -> None:
    """dataset_coco.json or dataset_flickr30k.json with its images; COCO entries have filepath and cocoid."""
    images, number = [], 0
    for split, count in splits.items():
        for _ in range(count):
            entry = {"filename": f"image_{number:06d}.jpg", "imgid": number, "split": split, "sentids": []}
            entry["sentences"] = [
                {"raw": sentence(5 * number + i), "tokens": [], "imgid": number, "sentid": 5 * number + i}
                for i in range(5)
            ]
            place = data / folder
            if filepath:
                entry |= {"filepath": filepath(split), "cocoid": 100_000 + number}
                place = place / entry["filepath"]
            picture(place / entry["filename"], number)
            images.append(entry)
            number += 1
    write_json(data / name, {"images": images, "dataset": name})


def nocaps(data: Path, near: int, out: int) -> None:
    """nocaps_val_4500_captions.json: ten captions for each image and the domain of each."""
    domains = ["near-domain"] * near + ["out-domain"] * out + ["in-domain"] * 3
    images = [
        {
            "id": i,
            "file_name": f"{i:016x}.jpg",
            "domain": domain,
            "open_images_id": f"{i:016x}",
            "width": 40,
            "height": 36,
        }
        for i, domain in enumerate(domains)
    ]
    annotations = [
        {"id": 10 * i + k, "image_id": i, "caption": sentence(10 * i + k)}
        for i in range(len(images))
        for k in range(10)
    ]
    for image in images:
        picture(data / "nocaps/validation" / image["file_name"], 500 + image["id"])
    content = {"images": images, "annotations": annotations, "info": {}, "licenses": []}
    write_json(data / "nocaps/nocaps_val_4500_captions.json", content)


def conceptual_captions(data: Path, train: int, test: int) -> None:
    """The two TSV files and images named by line; one line in twenty has no image any more."""
    files = {
        ("train", "Train_GCC-training.tsv"): train,
        ("validation", "Validation_GCC-1.1.0-Validation.tsv"): test,
    }
    for (folder, name), count in files.items():
        rows = []
        for number in range(count + count // 20):
            rows.append(f"{sentence(number).lower()}\thttp://images.invalid/{number}.jpg")
            if number % 21 != 20:
                picture(data / "conceptual-captions" / folder / f"{number:08d}.jpg", 900 + number)
        (data / "conceptual-captions" / name).write_text("\n".join(rows) + "\n", encoding="utf-8")


def concadia(data: Path, test: int) -> None:
    """wiki_split.json with caption, description and context of each image."""
    images = [
        {
            "filename": f"{i}.jpg",
            "orig_filename": f"File_{i}.jpg",
            "article_id": i,
            "split": "test",
            **{
                kind: {"raw": sentence(3 * i + k), "tokens": []}
                for k, kind in enumerate(("caption", "description", "context"))
            },
        }
        for i in range(test)
    ]
    for image in images:
        picture(data / "concadia/resized" / image["filename"], 1500 + image["article_id"])
    write_json(data / "concadia/wiki_split.json", {"images": images})


def clip_weights(path: Path) -> None:
    """A CLIP of one layer on each side under the key names of OpenAI and open_clip."""
    generator = torch.Generator().manual_seed(0)

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator) * 0.1

    def block(prefix: str) -> dict[str, torch.Tensor]:
        return {
            f"{prefix}.attn.in_proj_weight": random(3 * WIDTH, WIDTH),
            f"{prefix}.attn.in_proj_bias": random(3 * WIDTH),
            f"{prefix}.attn.out_proj.weight": random(WIDTH, WIDTH),
            f"{prefix}.attn.out_proj.bias": random(WIDTH),
            f"{prefix}.mlp.c_fc.weight": random(4 * WIDTH, WIDTH),
            f"{prefix}.mlp.c_fc.bias": random(4 * WIDTH),
            f"{prefix}.mlp.c_proj.weight": random(WIDTH, 4 * WIDTH),
            f"{prefix}.mlp.c_proj.bias": random(WIDTH),
            **{f"{prefix}.{n}.weight": 1 + random(WIDTH) for n in ("ln_1", "ln_2")},
            **{f"{prefix}.{n}.bias": random(WIDTH) for n in ("ln_1", "ln_2")},
        }

    state = {
        "visual.class_embedding": random(WIDTH),
        "visual.positional_embedding": random(5, WIDTH),  # 32 pixels in patches of 16
        "visual.proj": random(WIDTH, EMBEDDING),
        "visual.conv1.weight": random(WIDTH, 3, 16, 16),
        **{f"visual.{n}.{p}": 1 + random(WIDTH) for n in ("ln_pre", "ln_post") for p in ("weight", "bias")},
        **block("visual.transformer.resblocks.0"),
        **block("transformer.resblocks.0"),
        "token_embedding.weight": random(49_408, WIDTH),
        "positional_embedding": random(77, WIDTH),
        "ln_final.weight": 1 + random(WIDTH),
        "ln_final.bias": random(WIDTH),
        "text_projection": random(WIDTH, EMBEDDING),
        "logit_scale": torch.tensor(4.6052),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file(state, path)


def resnet_weights(path: Path) -> None:
    """A ResNet with one block in each stage, the classifier included, under torchvision's names of tensors.

    Old files as resnet101.pth do not count batches.
    """
    with torch.random.fork_rng():
        torch.manual_seed(0)
        state = build([1, 1, 1, 1]).state_dict()
    state = {name: value for name, value in state.items() if not name.endswith("num_batches_tracked")}
    torch.save({**state, "fc.weight": torch.zeros(1000, 2048), "fc.bias": torch.zeros(1000)}, path)


def gpt2_tokenizer(path: Path) -> int:
    """A byte-pair tokenizer in the format of GPT-2's tokenizer.json; returns its number of tokens."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=["<|endoftext|>"], initial_alphabet=alphabet)
    tokenizer.train_from_iterator((sentence(i) for i in range(50)), trainer)
    path.parent.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(path))
    return tokenizer.get_vocab_size()


def clipcap_weights(path: Path, vocabulary: int, seed: int) -> None:
    """A ClipCap of one layer under the published keys, the causal masks of old transformers included."""
    generator = torch.Generator().manual_seed(seed)

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator) * 0.2

    layer, positions = "gpt.transformer.h.0", 64
    state = {
        "clip_project.model.0.weight": random(5 * WIDTH, EMBEDDING),
        "clip_project.model.0.bias": random(5 * WIDTH),
        "clip_project.model.2.weight": random(10 * WIDTH, 5 * WIDTH),
        "clip_project.model.2.bias": random(10 * WIDTH),
        "gpt.transformer.wte.weight": random(vocabulary, WIDTH),
        "gpt.transformer.wpe.weight": random(positions, WIDTH),
        f"{layer}.attn.bias": torch.ones(positions, positions).tril().view(1, 1, positions, positions),
        f"{layer}.attn.masked_bias": torch.tensor(-1e4),
        f"{layer}.attn.c_attn.weight": random(WIDTH, 3 * WIDTH),
        f"{layer}.attn.c_attn.bias": random(3 * WIDTH),
        f"{layer}.attn.c_proj.weight": random(WIDTH, WIDTH),
        f"{layer}.attn.c_proj.bias": random(WIDTH),
        f"{layer}.mlp.c_fc.weight": random(WIDTH, 4 * WIDTH),
        f"{layer}.mlp.c_fc.bias": random(4 * WIDTH),
        f"{layer}.mlp.c_proj.weight": random(4 * WIDTH, WIDTH),
        f"{layer}.mlp.c_proj.bias": random(WIDTH),
        **{f"{layer}.{n}.weight": 1 + random(WIDTH) for n in ("ln_1", "ln_2")},
        **{f"{layer}.{n}.bias": random(WIDTH) for n in ("ln_1", "ln_2")},
        "gpt.transformer.ln_f.weight": 1 + random(WIDTH),
        "gpt.transformer.ln_f.bias": random(WIDTH),
    }
    state["gpt.lm_head.weight"] = state["gpt.transformer.wte.weight"]
    torch.save(state, path)


def scorer_weights(data: Path) -> None:
    """Weights and vocabularies of the four scorers that read regions: the golden tests', for texts of 64 tokens."""
    places = {
        "uniter": ("weights", "uniter-base.pt"),
        "rosita": ("weights_nested", "rosita-base.pkl"),
        "vilbert": ("weights", "vilbert_beta/pytorch_model_9.bin"),
        "lxmert": ("weights", "lxmert/Epoch20_LXRT.pth"),
    }
    for family, (source, name) in places.items():
        state = load_file(GOLDEN / family / f"{source}.safetensors")
        for key, value in state.items():
            if key.endswith("position_embeddings.weight"):
                state[key] = torch.cat([value, value, value])[:64]
        nested: dict = state if family != "rosita" else {"epoch": 3}
        if family == "rosita":  # a state dict for each module
            for key, value in state.items():
                module, inner = key.split("/")
                nested.setdefault(module, {})[inner] = value
        (data / "weights" / name).parent.mkdir(parents=True, exist_ok=True)
        torch.save(nested, data / "weights" / name)
    letters = [chr(ord("a") + number) for number in range(26)]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *letters, *(f"##{letter}" for letter in letters), *WORDS[1:]]
    pieces += [f"[unused{number}]" for number in range(100 - len(pieces))]
    for name in ("bert-base-cased", "bert-base-uncased"):
        (data / "weights" / name).mkdir(parents=True, exist_ok=True)
        (data / "weights" / name / "vocab.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")


def lxmert_regions(data: Path) -> None:
    """train2014_obj36.tsv and val2014_obj36.tsv of the stand-in for COCO: three regions with 20 numbers each."""
    images = json.loads((data / "coco/dataset_coco.json").read_text(encoding="utf-8"))["images"]
    for part in ("train2014", "val2014"):
        lines = []
        for image in images:
            if image["filepath"] == part:
                generator = torch.Generator().manual_seed(image["cocoid"])
                corners = torch.rand(3, 2, 2, generator=generator).sort(1).values.flatten(1) * 36
                numbers, features = torch.arange(3), torch.rand(3, 20, generator=generator)
                row = [f"COCO_{part}_{image['cocoid']:012d}", 36, 40 + image["imgid"] % 5]
                row += [_base64(numbers), _base64(features[:, 0]), _base64(numbers), _base64(features[:, 1])]
                lines.append("\t".join(map(str, [*row, 3, _base64(corners), _base64(features)])) + "\n")
        (data / "lxmert").mkdir(exist_ok=True)
        (data / "lxmert" / f"{part}_obj36.tsv").write_text("".join(lines), encoding="ascii")


def _base64(values: torch.Tensor) -> str:
    return base64.b64encode(values.contiguous().numpy().tobytes()).decode()


def tagger_package(packages: Path, model: Path) -> Path:
    """An installed package en_core_web_sm that is in truth another model; returns the folder for sys.path."""
    (packages / "en_core_web_sm").mkdir(parents=True)
    (packages / "en_core_web_sm" / "__init__.py").write_text(
        "from spacy.util import load_model_from_path\nfrom pathlib import Path\n\n\n"
        f"def load(**options):\n    return load_model_from_path(Path({str(model)!r}), **options)\n"
    )
    (packages / "en_core_web_sm-3.8.0.dist-info").mkdir()
    metadata = "Metadata-Version: 2.1\nName: en_core_web_sm\nVersion: 3.8.0\n"
    (packages / "en_core_web_sm-3.8.0.dist-info" / "METADATA").write_text(metadata)
    return packages


def write_json(path: Path, content: object) -> None:
    """Write JSON, with the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")


def write_stand_ins(data: Path) -> None:
    """Everything that config/paper.yaml names, below `data`: 100 images wherever 100 candidates are asked for."""
    splits = {"train": 60, "restval": 45, "val": 2, "test": 100}
    karpathy(data, "coco/dataset_coco.json", "coco", splits, lambda s: "train2014" if s == "train" else "val2014")
    karpathy(data, "flickr30k/dataset_flickr30k.json", "flickr30k/Images", {"train": 2, "test": 100}, None)
    nocaps(data, near=100, out=100)
    conceptual_captions(data, train=105, test=100)
    concadia(data, test=100)
    clip_weights(data / "weights/clip-vit-b-32-openai.safetensors")
    resnet_weights(data / "weights/resnet101.pth")
    vocabulary = gpt2_tokenizer(data / "weights/gpt2/tokenizer.json")
    clipcap_weights(data / "weights/clipcap_coco_weights.pt", vocabulary, seed=1)
    clipcap_weights(data / "weights/clipcap_conceptual_weights.pt", vocabulary, seed=2)
    scorer_weights(data)
    lxmert_regions(data)
