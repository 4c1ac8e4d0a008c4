"""Tiny stand-ins for the files that config/paper.yaml expects: the published formats, drawn images, random weights."""

import base64
import json
from collections.abc import Callable
from pathlib import Path

import torch
from PIL import Image
from support.stand_in_weights import (
    WORDS,
    blip_weights,
    camel_weights,
    clip_grid_weights,
    clip_tokenizer,
    clip_weights,
    clipcap_weights,
    gpt2_tokenizer,
    resnet_weights,
    scorer_weights,
    sentence,
    vinvl_weights,
)

# What scene captions name, and the objects that tell each scene; the others are everywhere.
SCENES = {
    "station": ("train", "suitcase", "clock"),
    "road": ("car", "traffic light", "truck"),
    "room": ("lamp", "nightstand", "couch"),
    "sea": ("boat", "surfboard", "wave"),
    "resort": ("umbrella", "pool", "palm tree"),
    "house": ("door", "window", "roof"),
    "restaurant": ("fork", "plate", "wine glass"),
}
EVERYWHERE = ("person", "man", "clothing", "shirt", "footwear", "girl")
HL_IMAGES = 300_000  # the first number of an image of HL-Scenes


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


def imagecode(data: Path, sets: int) -> None:
    """valid_data.json, in which two images of each set of ten are described, and the sets."""
    described = {}
    for number in range(sets):
        name = f"{'open-images' if number % 2 else 'video'}-{number}_1"
        for rank in range(10):
            picture(data / f"imagecode/image-sets/{name}/img{rank}.jpg", 3000 + 10 * number + rank)
        described[name] = {str(rank): sentence(10 * number + rank) for rank in (2, 7)}
    write_json(data / "imagecode/data/valid_data.json", described)


def hl(data: Path, train: int, test: int) -> None:
    """HL's train.jsonl and test.jsonl with images of COCO: three captions of a kind, and how sure people are."""
    number = 0
    for split, count in {"train": train, "test": test}.items():
        lines = []
        for _ in range(count):
            scene = list(SCENES)[number % len(SCENES)]
            captions = {kind: [sentence(3 * number + k) for k in range(3)] for kind in ("action", "rationale")}
            captions["scene"] = [f"in a {scene}", f"the picture is taken at the {scene}.", "on a green street"]
            captions["object"] = [sentence(5 * number + k) for k in range(5)]
            name = f"COCO_train2014_{HL_IMAGES + number:012d}.jpg"
            picture(data / "coco/train2014" / name, 2000 + number)
            confidence = {kind: [5.0, 4.0, 3.0] for kind in ("scene", "action", "rationale")}
            lines.append(json.dumps({"file_name": name, "captions": captions, "confidence": confidence}) + "\n")
            number += 1
        (data / "hl").mkdir(exist_ok=True)
        (data / "hl" / f"{split}.jsonl").write_text("".join(lines), encoding="utf-8")


def vinvl_files(data: Path, images: int) -> None:
    """VinVL's train.feature.tsv and train.label.tsv with the images of HL: a region for each tag, in its box.

    A region has 14 numbers and six for its box. Every fifth image lacks an object that tells its scene.
    """
    features, labels = [], []
    for number in range(images):
        told = list(SCENES.values())[number % len(SCENES)]
        tags = [*told[number % 5 == 0 :], *(EVERYWHERE[(number + step) % len(EVERYWHERE)] for step in range(4))]
        generator = torch.Generator().manual_seed(number)
        corners = torch.rand(len(tags), 2, 2, generator=generator).sort(1).values.flatten(1)
        numbers = torch.rand(len(tags), 14, generator=generator)
        rows = torch.cat([numbers, corners, corners[:, 2:] - corners[:, :2]], dim=1)
        found = [
            {"class": tag, "conf": 0.9, "rect": (box * torch.tensor([40 + number % 5, 36] * 2)).tolist()}
            for tag, box in zip(tags, corners, strict=True)
        ]
        features.append(f"{HL_IMAGES + number}\t{json.dumps({'num_boxes': len(tags), 'features': _base64(rows)})}\n")
        labels.append(f"{HL_IMAGES + number}\t{json.dumps(found)}\n")
    for kind, lines in {"feature": features, "label": labels}.items():
        path = data / f"vinvl/coco_caption/train.{kind}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(lines), encoding="ascii")


def vinvl_words() -> list[str]:
    """The words of captions, of scenes and of tags."""
    tags = [word for tags in (*SCENES.values(), EVERYWHERE) for tag in tags for word in tag.split()]
    return list(dict.fromkeys([*WORDS, *SCENES, *tags, "in", "picture", "is", "taken", "at"]))


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


def coco(data: Path) -> None:
    """COCO as Karpathy split it."""
    splits = {"train": 60, "restval": 45, "val": 2, "test": 100}
    karpathy(data, "coco/dataset_coco.json", "coco", splits, lambda s: "train2014" if s == "train" else "val2014")


def write_stand_ins(data: Path) -> None:
    """What config/paper.yaml names, but ClipCap-ConCap, below `data`; 100 images of what is searched or trained on."""
    coco(data)
    karpathy(data, "flickr30k/dataset_flickr30k.json", "flickr30k/Images", {"train": 100, "val": 100, "test": 2}, None)
    nocaps(data, near=100, out=2)
    conceptual_captions(data, train=105, test=100)
    concadia(data, test=2)
    imagecode(data, sets=6)
    clip_weights(data / "weights/clip-vit-b-32-openai.safetensors")
    resnet_weights(data / "weights/resnet101.pth")
    vocabulary = gpt2_tokenizer(data / "weights/gpt2/tokenizer.json")
    clipcap_weights(data / "weights/clipcap_coco_weights.pt", vocabulary)
    scorer_weights(data)
    lxmert_regions(data)
    hl(data, train=105, test=70)
    vinvl_files(data, images=175)
    vinvl_weights(data / "weights/vinvl-base-image-captioning", vinvl_words())
    blip_weights(data / "weights/blip_coco_caption_base.pth")
    clip_grid_weights(data / "weights/clip-rn50x16-openai.safetensors")
    camel_weights(data / "weights/camel_nomesh.pth", clip_tokenizer(data / "weights/clip/tokenizer.json"))
