"""Tiny stand-ins for published weights and vocabularies: the published names and layouts, random numbers."""

import json
from collections.abc import Iterable
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import nn

from captionlab.captioners.blip.captioner import Blip
from captionlab.captioners.camel.captioner import Camel
from captionlab.captioners.vinvl.captioner import Vinvl
from captionlab.encoders.clip.encoder import build as build_clip
from captionlab.encoders.resnet.encoder import build as build_resnet

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
WIDTH = 64  # of every stand-in transformer: one head, as stand_ins.yaml says
GRID = 256  # numbers at each place of the image that the stand-in CaMEL reads
BERT_PIECES, CLIP_PIECES = 30_522, 49_408  # of the vocabularies, whose special pieces have fixed ids
NORMS = ("blocks.0.norm1", "blocks.0.norm2", "norm")  # of BLIP's vision tower


def sentence(number: int) -> str:
    """A caption without meaning, another one for every number."""
    return " ".join(WORDS[(number * step + step) % len(WORDS)] for step in range(3, 9)).capitalize() + "."


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
        state = build_resnet([1, 1, 1, 1]).state_dict()
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


def clipcap_weights(path: Path, vocabulary: int) -> None:
    """A ClipCap of one layer under the published keys, the causal masks of old transformers included."""
    generator = torch.Generator().manual_seed(1)

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
            elif family != "uniter" and len(value) == 100:  # rows of the uncased vocabulary, which BLIP needs whole
                state[key] = torch.cat([value, value.new_zeros(BERT_PIECES - 100, *value.shape[1:])])
        nested: dict = state if family != "rosita" else {"epoch": 3}
        if family == "rosita":  # a state dict for each module
            for key, value in state.items():
                module, inner = key.split("/")
                nested.setdefault(module, {})[inner] = value
        (data / "weights" / name).parent.mkdir(parents=True, exist_ok=True)
        torch.save(nested, data / "weights" / name)
    for name, size in {"bert-base-cased": 100, "bert-base-uncased": BERT_PIECES}.items():
        write_pieces(data / "weights" / name / "vocab.txt", bert_pieces(), size)


def bert_pieces() -> list[str]:
    """The first word pieces of the stand-in for BERT's vocabulary, which all its readers know."""
    return ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *pieces(WORDS)]


def pieces(words: Iterable[str]) -> list[str]:
    """Letters, as word pieces that begin words and that go on, and these words of more than one letter."""
    letters = [chr(ord("a") + number) for number in range(26)]
    return [*letters, *(f"##{letter}" for letter in letters), *(word for word in words if len(word) > 1)]


def write_pieces(path: Path, pieces: list[str], size: int = 0) -> None:
    """A vocab.txt of these word pieces, filled up to a size."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unused = (f"[unused{number}]" for number in range(size - len(pieces)))
    path.write_text("\n".join([*pieces, *unused]) + "\n", encoding="utf-8")


def vinvl_weights(folder: Path, words: Iterable[str]) -> None:
    """A VinVL of two layers for regions with 20 numbers, with the second head of its pre-training, and its vocab.txt.

    It knows these words and writes no others. [CLS] and [MASK] stand where they stand in BERT's vocabulary.
    """
    unused = [f"[unused{number}]" for number in range(99)]
    vocabulary = ["[PAD]", *unused, "[UNK]", "[CLS]", "[SEP]", "[MASK]", *pieces(words)]
    write_pieces(folder / "vocab.txt", vocabulary)
    captioner = Vinvl(len(vocabulary), 80, WIDTH, 2, 1, 2 * WIDTH, 20)
    redraw(captioner)
    bias = torch.full((len(vocabulary),), -20.0)
    bias[[number for number, piece in enumerate(vocabulary) if piece in words]] = 0.0
    bias[vocabulary.index("[SEP]")] = 3.0
    state = {**captioner.state_dict(), "cls.predictions.bias": bias, "cls.seq_relationship.bias": torch.zeros(3)}
    torch.save({**state, "cls.seq_relationship.weight": torch.zeros(3, WIDTH)}, folder / "pytorch_model.bin")


def blip_weights(path: Path) -> None:
    """BLIP's vision tower and text decoder of a layer each, in one file as LAVIS has them; it writes known words alone.

    The vocabulary is as large as BERT's and BLIP's two pieces together: the prompt's ids are fixed.
    """
    generator = torch.Generator().manual_seed(0)
    shapes = {
        "cls_token": (1, 1, WIDTH),
        "pos_embed": (1, 5, WIDTH),  # 32 pixels in patches of 16
        "patch_embed.proj.weight": (WIDTH, 3, 16, 16),
        "patch_embed.proj.bias": (WIDTH,),
        "blocks.0.attn.qkv.weight": (3 * WIDTH, WIDTH),
        "blocks.0.attn.qkv.bias": (3 * WIDTH,),
        "blocks.0.attn.proj.weight": (WIDTH, WIDTH),
        "blocks.0.attn.proj.bias": (WIDTH,),
        "blocks.0.mlp.fc1.weight": (2 * WIDTH, WIDTH),
        "blocks.0.mlp.fc1.bias": (2 * WIDTH,),
        "blocks.0.mlp.fc2.weight": (WIDTH, 2 * WIDTH),
        "blocks.0.mlp.fc2.bias": (WIDTH,),
        **{f"{norm}.{part}": (WIDTH,) for norm in NORMS for part in ("weight", "bias")},
    }
    tower = {f"visual_encoder.{name}": torch.randn(*shape, generator=generator) * 0.2 for name, shape in shapes.items()}
    decoder = Blip(WIDTH, BERT_PIECES + 2, WIDTH, 1, 1, 2 * WIDTH, 64)
    redraw(decoder)
    bias = torch.full((BERT_PIECES + 2,), -20.0)
    vocabulary = bert_pieces()
    bias[[vocabulary.index(word) for word in WORDS]] = 0.0
    bias[vocabulary.index("[SEP]")] = 3.0
    state = decoder.state_dict()
    state |= {name: bias for name in state if name.endswith(("cls.predictions.bias", "cls.predictions.decoder.bias"))}
    torch.save({"model": {**tower, **state}, "epoch": 4}, path)


def clip_grid_weights(path: Path) -> None:
    """A CLIP whose image tower is a ResNet, as RN50x16, with four places in its last layer."""
    vision = {"image_size": 64, "layers": [1, 1, 1, 1], "width": GRID // 32, "patch_size": None}
    text = {"context_length": 77, "vocab_size": CLIP_PIECES, "width": WIDTH, "heads": 1, "layers": 1}
    save_file(build_clip({"embed_dim": EMBEDDING, "vision_cfg": vision, "text_cfg": text}).state_dict(), path)


def clip_tokenizer(path: Path) -> list[int]:
    """A byte-pair tokenizer.json with the ids of CLIP's special tokens; returns the ids of its other tokens."""
    tokenizer = Tokenizer(models.BPE(end_of_word_suffix="</w>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.decoder = decoders.BPEDecoder(suffix="</w>")
    trainer = trainers.BpeTrainer(vocab_size=200, end_of_word_suffix="</w>", show_progress=False)
    tokenizer.train_from_iterator((sentence(number).lower() for number in range(50)), trainer)
    written = json.loads(tokenizer.to_str())
    ids = {piece: number for number, piece in enumerate(("!", *written["model"]["vocab"]))}
    unused = {f"<unused{number}>": number for number in range(len(ids), CLIP_PIECES - 2)}
    special = {"<|startoftext|>": CLIP_PIECES - 2, "<|endoftext|>": CLIP_PIECES - 1}
    written["model"]["vocab"] = {**ids, **unused, **special}
    written["added_tokens"] = [
        {"id": number, "content": piece, "special": True, "normalized": False, "single_word": False, "lstrip": False,
         "rstrip": False}
        for piece, number in special.items()
    ]  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(written), encoding="utf-8")
    return list(range(1, len(ids)))


def camel_weights(path: Path, known: list[int]) -> None:
    """A CaMEL without mesh of a layer each way, as a checkpoint of its training: online and target network.

    It writes the tokens that are known, and ends.
    """
    networks = {}
    for name in ("state_dict_o", "state_dict_t"):
        captioner = Camel(GRID, CLIP_PIECES, WIDTH, 1, 1, 1, 2 * WIDTH, 3, False, CLIP_PIECES - 2, padding=0)
        redraw(captioner)
        rows = torch.zeros(CLIP_PIECES, 1)
        rows[known] = 1.0
        rows[CLIP_PIECES - 1] = 4.0
        state = captioner.state_dict()
        networks[name] = {**state, "decoder.fc.weight": rows * state["decoder.fc.weight"]}
        networks[name]["decoder.running_seq"] = torch.zeros(1, dtype=torch.long)
    torch.save({**networks, "epoch": 7, "patience": 0}, path)


@torch.no_grad()
def redraw(model: nn.Module) -> None:
    """Weights so large that what a model puts out depends on what it reads."""
    generator = torch.Generator().manual_seed(0)
    for name, parameter in model.named_parameters():
        norm = "norm" in name.lower() and name.endswith("weight")
        parameter.copy_(norm + 0.4 * torch.randn(parameter.shape, generator=generator))
