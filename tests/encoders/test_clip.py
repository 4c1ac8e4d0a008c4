"""CLIP: its towers against open_clip's own, its import, its crop against torchvision's, and its training."""

import hashlib
import json
import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file
from snakemake.iocontainers import InputFiles
from support.running import run_script
from torch.nn.functional import normalize
from torchvision import transforms

from captionlab.encoders.clip import encoder as clip_module
from captionlab.encoders.clip.encoder import (
    MEAN,
    STD,
    Clip,
    build,
    encode_tokens,
    import_weights,
    open_clip,
    pad,
    tokenise,
)
from captionlab.encoders.images import normalise
from captionlab.images.locations import LOCATION, ImageLocation
from captionlab.networks.checkpoints import CheckpointError
from captionlab.storage.schemas import CAPTIONS as CAPTION_TABLE
from captionlab.storage.schemas import IMAGES, TRAINING
from captionlab.storage.tables import read_table, write_table
from captionlab.training.loop import checkpoints
from captionlab.training.loop.batches import CaptionBatch
from captionlab.training.loop.data import texts_by_image
from captionlab.training.objectives.contrastive import (
    ContrastiveObjective,
    SmallVocabulary,
    decode_all,
    set_length,
    train_clip,
)

SCRIPTS = Path(__file__).parents[2] / "workflow" / "scripts"
TEXT = {"context_length": 77, "vocab_size": 49408, "width": 64, "heads": 1, "layers": 2}
VIT = {
    "embed_dim": 24,
    "vision_cfg": {"image_size": 32, "layers": 3, "width": 64, "patch_size": 8, "head_width": 64},
    "text_cfg": TEXT,
    "quick_gelu": True,
}
RESNET = {
    "embed_dim": 24,
    "vision_cfg": {"image_size": 64, "layers": [1, 2, 1, 1], "width": 8, "head_width": 64},
    "text_cfg": {**TEXT, "layers": 1},
    "quick_gelu": False,
}
CAPTIONS = [
    "a dog",
    "Two small DOGS &amp; a very very large brown cow stand in the field near the green tree, don't they?",
    "",
    "a dog",
    "extraordinarily " * 100,
]


def clip(architecture=VIT, seed=1):
    return Clip(build(architecture, seed), {"architecture": architecture, "image_mean": MEAN, "image_std": STD})


def pixels(number, size=32, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).integers(0, 256, (number, 3, size, size), np.uint8))


class TestTexts:
    def test_same_as_open_clip_with_all_positions(self):
        encoder = clip()
        with torch.no_grad():
            expected = encoder.model.encode_text(open_clip.tokenize(CAPTIONS, 77))
        for batch in (1, 2, 256):
            found = encoder.embed_texts(CAPTIONS, batch)
            torch.testing.assert_close(normalize(found), normalize(expected), atol=1e-6, rtol=0)

    def test_longer_than_a_short_context(self):
        encoder = clip({**VIT, "text_cfg": {**TEXT, "context_length": 12}})
        with torch.no_grad():
            expected = encoder.model.encode_text(open_clip.tokenize(CAPTIONS, 12))
        torch.testing.assert_close(normalize(encoder.embed_texts(CAPTIONS)), normalize(expected), atol=1e-6, rtol=0)

    def test_equal_captions_are_embedded_once_and_nothing_past_the_longest(self, monkeypatch):
        encoder, seen = clip(), []
        table = encoder.model.token_embedding
        original = table.forward
        monkeypatch.setattr(table, "forward", lambda ids: seen.append(ids.shape) or original(ids))
        embeddings = encoder.embed_texts(["a dog", "two cats", "a dog", "a dog"])
        assert seen == [(2, 4)]
        assert torch.equal(embeddings[0], embeddings[2])
        assert not torch.equal(embeddings[0], embeddings[1])

    def test_no_captions(self):
        assert clip().embed_texts([]).shape == (0, 24)

    def test_embeddings_may_weigh_a_loss(self):
        weight = torch.ones(24, requires_grad=True)
        (clip().embed_texts(["a dog"]) * weight).sum().backward()
        assert weight.grad is not None


class TestImages:
    @pytest.mark.parametrize("size", [(50, 32), (31, 77), (32, 32), (200, 101), (20, 20)])
    def test_crop_is_that_of_torchvision(self, size):
        image = Image.fromarray(np.random.default_rng(3).integers(0, 256, (size[1], size[0], 3), np.uint8))
        reference = transforms.Compose(
            [
                transforms.Resize(32, transforms.InterpolationMode.BICUBIC),
                transforms.CenterCrop(32),
                transforms.ToTensor(),
                transforms.Normalize(MEAN, STD),
            ]
        )
        found = normalise(clip().preprocess(image)[None], MEAN, STD)[0]
        torch.testing.assert_close(found, reference(image), atol=1e-6, rtol=0)

    def test_embeddings_are_those_of_the_image_tower(self):
        for architecture in (VIT, RESNET):
            encoder, images = clip(architecture), pixels(3, architecture["vision_cfg"]["image_size"])
            scaled = (images / 255 - torch.tensor(MEAN).view(3, 1, 1)) / torch.tensor(STD).view(3, 1, 1)
            with torch.no_grad():
                expected = encoder.model.encode_image(scaled)
            torch.testing.assert_close(encoder.embed_images(images), expected, atol=1e-5, rtol=1e-5)

    def test_sizes(self):
        encoder = clip(RESNET)
        assert (encoder.image_dimensions, encoder.image_size, encoder.context_length) == (24, 64, 77)
        assert encoder.logit_scale == pytest.approx(1 / 0.07)


class TestStorage:
    def test_comes_back_as_it_was(self, tmp_path):
        encoder = clip()
        encoder.save(tmp_path / "encoder")
        again = Clip.load(tmp_path / "encoder")
        assert sorted(path.name for path in (tmp_path / "encoder").iterdir()) == ["config.json", "model.safetensors"]
        assert torch.equal(again.embed_texts(CAPTIONS), encoder.embed_texts(CAPTIONS))
        assert torch.equal(again.embed_images(pixels(2)), encoder.embed_images(pixels(2)))
        assert again.logit_scale == encoder.logit_scale
        assert not any(parameter.requires_grad for parameter in again.model.parameters())

    def test_weights_depend_on_the_seed_and_touch_no_other_random_numbers(self):
        torch.manual_seed(5)
        before = torch.get_rng_state()
        first, again, other = build(VIT, 1), build(VIT, 1), build(VIT, 2)
        assert torch.equal(torch.get_rng_state(), before)
        assert torch.equal(first.text_projection, again.text_projection)
        assert not torch.equal(first.text_projection, other.text_projection)

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"text_cfg": {**TEXT, "widht": 3}}, r"architecture\.text_cfg: 'widht'"),
            ({"text_cfg": {**TEXT, "no_causal_mask": True}}, r"architecture\.text_cfg: 'no_causal_mask'"),
            ({"vision_cfg": {"timm_model_name": "resnet18"}}, r"architecture\.vision_cfg: 'timm_model_name'"),
            ({"multimodal_cfg": {}}, "architecture: 'multimodal_cfg'"),
        ],
    )
    def test_refuses_what_is_no_clip(self, changes, message):
        with pytest.raises(ValueError, match=message):
            build({**VIT, **changes})


class TestImport:
    @pytest.mark.parametrize("architecture", [VIT, RESNET], ids=["vit", "resnet"])
    @pytest.mark.parametrize("suffix", [".safetensors", ".pt"])
    def test_sizes_are_read_off_the_file(self, architecture, suffix, tmp_path):
        encoder, file = clip(architecture), tmp_path / f"weights{suffix}"
        if suffix == ".safetensors":
            save_file(encoder.model.state_dict(), file)
        else:
            # As training scripts leave them: nested, and with the prefix of data-parallel training.
            state = {f"module.{name}": value for name, value in encoder.model.state_dict().items()}
            torch.save({"state_dict": state, "epoch": 3}, file)
        found = import_weights({"head_width": 64, "quick_gelu": architecture["quick_gelu"]}, file)
        assert found.config["architecture"] == architecture
        size = architecture["vision_cfg"]["image_size"]
        assert torch.equal(found.embed_images(pixels(2, size)), encoder.embed_images(pixels(2, size)))
        assert torch.equal(found.embed_texts(CAPTIONS), encoder.embed_texts(CAPTIONS))

    def test_half_precision_numbers_of_openai_and_default_activation(self, tmp_path):
        state = clip().model.half().state_dict()
        extra = {name: torch.tensor(77) for name in ("input_resolution", "context_length", "vocab_size")}
        save_file({**state, **extra}, tmp_path / "w.safetensors")
        found = import_weights({"head_width": 64}, tmp_path / "w.safetensors")
        assert found.config["architecture"]["quick_gelu"] is True
        assert found.model.text_projection.dtype == torch.float32

    def test_two_tables_of_positions_of_long_clip(self, tmp_path):
        """The first 20 positions are in one table, and the other 228 in the other."""
        encoder = clip({**VIT, "text_cfg": {**TEXT, "context_length": 248}})
        state, table = encoder.model.state_dict(), encoder.model.positional_embedding
        noise = torch.randn_like(table)
        first, second = (
            torch.where(torch.arange(248)[:, None] < 20, *pair) for pair in ((table, noise), (noise, table))
        )
        published = {**state, "positional_embedding": first, "positional_embedding_res": second}
        save_file(published, tmp_path / "w.safetensors")
        found = import_weights({"head_width": 64}, tmp_path / "w.safetensors")
        captions = ["a dog", "a dog and a cat " * 30, "a dog " * 600, "word " * 5000]
        assert torch.equal(found.embed_texts(captions), encoder.embed_texts(captions))
        assert found.context_length == 248
        assert found.tokens_left_out(captions) == [0, 0, 1200 - 246, 5000 - 246]

    def test_heads_that_are_not_width_over_head_width(self, tmp_path):
        encoder = clip({**VIT, "text_cfg": {**TEXT, "heads": 4}})
        save_file(encoder.model.state_dict(), tmp_path / "w.safetensors")
        found = import_weights({"head_width": 64, "heads": 4}, tmp_path / "w.safetensors")
        assert torch.equal(found.embed_texts(["a dog"]), encoder.embed_texts(["a dog"]))
        wrong = import_weights({"head_width": 64}, tmp_path / "w.safetensors")
        assert not torch.allclose(wrong.embed_texts(["a dog"]), encoder.embed_texts(["a dog"]))

    def test_torchscript_is_not_executed(self, tmp_path):
        torch.jit.script(torch.nn.Linear(2, 2)).save(tmp_path / "ViT-B-32.pt")
        with pytest.raises(CheckpointError, match=r"TorchScript.*open_clip_model\.safetensors"):
            import_weights({}, tmp_path / "ViT-B-32.pt")

    def test_pickled_code_is_not_executed(self, tmp_path):
        torch.save({"state_dict": {}, "run": print}, tmp_path / "w.pt")
        with pytest.raises(CheckpointError, match="not unpickled because it could run code"):
            import_weights({}, tmp_path / "w.pt")

    def test_unusable_files(self, tmp_path):
        with pytest.raises(CheckpointError, match=r"none\.pt cannot be read .*No such file"):
            import_weights({}, tmp_path / "none.pt")
        (tmp_path / "w.safetensors").write_bytes(b"<html>sign in to download</html>")
        with pytest.raises(CheckpointError, match="cannot be read"):
            import_weights({}, tmp_path / "w.safetensors")
        save_file({"text_model.final_layer_norm.weight": torch.ones(3)}, tmp_path / "hf.safetensors")
        with pytest.raises(CheckpointError, match="transformers' CLIPModel"):
            import_weights({}, tmp_path / "hf.safetensors")
        state = clip().model.state_dict()
        state["transformer.resblocks.0.mlp.c_fc.weight"] = torch.ones(3, 64)
        save_file(state, tmp_path / "odd.safetensors")
        with pytest.raises(CheckpointError, match=r"(?s)do not fit.*c_fc"):
            import_weights({"head_width": 64}, tmp_path / "odd.safetensors")

    def test_published_names(self, monkeypatch, tmp_path):
        with pytest.raises(CheckpointError, match="knows no 'ViT-B-33'"):
            import_weights({"model": "ViT-B-33", "weights": "openai"})
        with pytest.raises(CheckpointError, match=r"knows no 'opnai' for ViT-B-32.*laion2b_e16"):
            import_weights({"model": "ViT-B-32", "weights": "opnai"})

        def offline(published):
            raise OSError("no route to host")

        monkeypatch.setattr(open_clip, "download_pretrained", offline)
        with pytest.raises(CheckpointError, match=r"could not download .*vit_base_patch32.*weights: <its path>"):
            import_weights({"model": "ViT-B-32-quickgelu", "weights": "openai"})

    def test_published_weights_bring_their_own_activation(self, monkeypatch, tmp_path):
        # A tiny file in the place of the download; the plain name of the model has another activation than the weights.
        tiny = {**VIT, "quick_gelu": False}
        save_file(clip(tiny).model.state_dict(), tmp_path / "w.safetensors")
        monkeypatch.setattr(open_clip, "get_model_config", lambda name: dict(tiny))
        monkeypatch.setattr(open_clip, "download_pretrained", lambda published: str(tmp_path / "w.safetensors"))
        found = import_weights({"model": "ViT-B-32", "weights": "openai"})
        assert found.config["architecture"]["quick_gelu"] is True
        assert found.config["image_mean"] == list(MEAN)

    def test_a_published_model_of_another_family(self, monkeypatch):
        monkeypatch.setattr(clip_module, "read_checkpoint", lambda path: {})
        monkeypatch.setattr(open_clip, "download_pretrained", lambda published: "nowhere")
        with pytest.raises(CheckpointError, match="no CLIP"):
            import_weights({"model": "coca_ViT-B-32", "weights": "laion2b_s13b_b90k"})


SMALL = {
    "embed_dim": 16,
    "vision_cfg": {"image_size": 32, "layers": 1, "width": 32, "patch_size": 16, "head_width": 16},
    "text_cfg": {"context_length": 20, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 1},
    "quick_gelu": False,
}
OPTIMIZER = {"kind": "adamw", "lr": 1e-3, "batch": 4, "steps": 3, "schedule": "cosine", "warmup": 1}


def corpus(number=9):
    """Uniform images whose captions name their colours."""
    images, captions = [], []
    for index in range(number):
        colour = ("red", "green", "blue")[index % 3]
        image = Image.new("RGB", (40, 32 + index), colour)
        path = f"{index}.png"
        images.append({"image_id": f"i{index}", **ImageLocation(path)._asdict(), "image": image})
        captions += [{"image_id": f"i{index}", "caption": text} for text in (f"a {colour} picture", colour)]
    return images, pa.Table.from_pylist(captions)


def train_small(folder, steps=3, seed=4):
    images, captions = corpus()
    folder.mkdir()
    for image in images:
        image["path"] = str(folder / image["path"])
        image.pop("image").save(image["path"])
    schema = pa.schema([(name, IMAGES.columns[name].type) for name in ("image_id", *LOCATION)])
    table = pa.Table.from_pylist(images, schema)
    encoder = train_clip(
        {"architecture": SMALL, "optimizer": {**OPTIMIZER, "steps": steps}},
        table,
        captions,
        seed=seed,
        log_path=folder / "training.parquet",
        state_directory=folder / "state",
        fingerprint="f",
        device="cpu",
    )
    encoder.save(folder / "encoder")
    return encoder, hashlib.sha256((folder / "encoder" / "model.safetensors").read_bytes()).hexdigest()


class TestTraining:
    def test_loss_is_the_mean_of_both_directions(self):
        model = build(SMALL, 2)
        tokens = pad(tokenise(["a dog", "two black cats", "grass"], 20))
        images = pixels(3)
        with torch.no_grad():
            loss, statistics = ContrastiveObjective(MEAN, STD).loss(model, CaptionBatch(images, tokens, tokens > 0))
            scaled = normalise(images, MEAN, STD)
            i, t = model.encode_image(scaled).numpy().astype(float), encode_tokens(model, tokens).numpy().astype(float)
        expected, right = 0.0, 0
        for k in range(3):
            norms = np.linalg.norm(t, axis=1)[:, None] * np.linalg.norm(i, axis=1)
            cosine = [[t[a] @ i[b] / norms[a, b] / 0.07 for b in range(3)] for a in range(3)]
            to_image = np.exp(cosine[k]) / np.sum(np.exp(cosine[k]))
            to_text = np.exp([row[k] for row in cosine]) / np.sum(np.exp([row[k] for row in cosine]))
            expected -= (np.log(to_image[k]) + np.log(to_text[k])) / 6
            right += int(np.argmax(cosine[k]) == k)
        assert loss.item() == pytest.approx(expected, abs=1e-5)
        assert statistics["accuracy"].item() == pytest.approx(right / 3)

    def test_scale_stays_below_100(self):
        model = build(SMALL, 2)
        model.logit_scale.data.fill_(7.0)
        tokens = pad(tokenise(["a dog", "grass"], 20))
        _, statistics = ContrastiveObjective(MEAN, STD).loss(model, CaptionBatch(pixels(2), tokens, tokens > 0))
        assert statistics["logit_scale"].item() == pytest.approx(100)

    def test_small_vocabulary_trains_like_the_whole_one(self):
        captions = ["a dog", "two black cats", "green grass", "a cat"]
        tokens = tokenise(captions, 20)
        images, results = pixels(4), []
        for reduce in (False, True):
            model = build(SMALL, 3)
            vocabulary = SmallVocabulary(model, tokens) if reduce else None
            ids = pad([vocabulary.encode(t) for t in tokens] if vocabulary else tokens)
            optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.0)
            for _ in range(3):
                optimizer.zero_grad()
                ContrastiveObjective(MEAN, STD).loss(model, CaptionBatch(images, ids, ids > 0))[0].backward()
                optimizer.step()
            if vocabulary:
                assert len(model.token_embedding.weight) < 15
                vocabulary.restore()
            results.append(model.state_dict())
        assert results[0].keys() == results[1].keys()
        for name, value in results[0].items():
            torch.testing.assert_close(results[1][name], value, atol=1e-5, rtol=1e-4, msg=name)

    @pytest.mark.parametrize("architecture", [VIT, RESNET])
    def test_embeddings_are_scaled_to_a_mean_length(self, architecture):
        encoder, images = clip(architecture), pixels(6, size=architecture["vision_cfg"]["image_size"])
        before = encoder.embed_images(images)
        set_length(encoder, images)
        after = encoder.embed_images(images)
        assert np.linalg.norm(after.numpy().astype(float), axis=1).mean() == pytest.approx(10, rel=1e-4)
        torch.testing.assert_close(after, before * (after.norm() / before.norm()), atol=1e-4, rtol=1e-4)

    def test_embeddings_of_a_trained_encoder_have_the_length(self, tmp_path):
        encoder, _ = train_small(tmp_path / "a")
        paths = [str(tmp_path / "a" / f"{index}.png") for index in range(9)]
        images = pa.Table.from_pylist([{"image_id": path, **ImageLocation(path)._asdict()} for path in paths])
        embeddings = encoder.embed_images(decode_all(images, 32, 1))
        assert embeddings.norm(dim=1).mean().item() == pytest.approx(10, rel=1e-4)

    def test_same_seed_same_bytes(self, tmp_path):
        _, first = train_small(tmp_path / "a")
        _, again = train_small(tmp_path / "b")
        _, other = train_small(tmp_path / "c", seed=5)
        assert first == again
        assert first != other

    def test_threads_are_for_decoding_and_change_no_byte(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        images, captions = corpus(40)
        rows = {name: [None] * len(images) for name in IMAGES.columns}
        rows |= {name: [1] * len(images) for name in ("width", "height")}
        rows |= {"position": range(len(images)), "split": ["train"] * len(images)}
        rows |= {"image_id": [image["image_id"] for image in images], "path": [image["path"] for image in images]}
        for image in images:
            image["image"].save(image["path"])
        write_table("images.parquet", IMAGES, rows)
        ranks = [index % 2 for index in range(len(captions))]
        write_table("captions.parquet", CAPTION_TABLE, {**captions.to_pydict(), "caption_index": ranks})
        made = []
        for threads in (1, 4):
            torch.set_num_threads(threads)  # what scripting.script asks torch for
            folder = f"with-{threads}"
            output = SimpleNamespace(weights=f"{folder}/model.safetensors", training=f"{folder}/training.parquet")
            config = {"architecture": SMALL, "optimizer": {**OPTIMIZER, "batch": 40}}
            params = {"code": "c", "versions": {}, "config": config, "seed": 3}
            job = SimpleNamespace(
                input=InputFiles(fromdict={"images": "images.parquet", "captions": "captions.parquet"}),
                output=output,
                params=type("Params", (dict,), {"__getattr__": dict.__getitem__})(params),
                threads=threads,
                rule="train_encoder",
                config={"checkpoints": {"steps": 1}},
            )
            with monkeypatch.context() as patch:
                patch.setattr(checkpoints, "remove", lambda folder: None)
                runpy.run_path(str(SCRIPTS / "train_encoder.py"))["main"](job)
            assert len(list(Path("results/state/train_encoder", folder).glob("*.pt"))) == 2
            made.append(Path(output.weights).read_bytes())
        assert made[0] == made[1]

    def test_a_corpus_without_a_split_train_is_named(self, tmp_path, monkeypatch, answers):
        monkeypatch.chdir(tmp_path)
        row = {name: None for name in IMAGES.columns} | {"width": 1, "height": 1, "position": 0, "split": "val"}
        write_table("images.parquet", IMAGES, [{**row, "image_id": "a", "path": "a.png"}])
        inputs, outputs = {"images": "images.parquet"}, {"weights": "model.safetensors"}
        with pytest.raises(ValueError, match="split 'train'") as raised:
            run_script("train_encoder", inputs, outputs, seed=3, config={"architecture": SMALL, "optimizer": OPTIMIZER})
        answers.hold("an encoder trained on nocaps, which has val alone", raised.value, "images.parquet")

    def test_learns_and_logs(self, tmp_path):
        encoder, _ = train_small(tmp_path / "a", steps=60)
        log = read_table(tmp_path / "a" / "training.parquet", TRAINING).to_pandas()
        assert {"loss", "accuracy", "logit_scale", "learning_rate"} <= set(log["statistic"])
        assert log["step"].max() == 60
        colours = torch.stack([encoder.preprocess(Image.new("RGB", (32, 32), c)) for c in ("red", "green", "blue")])
        i = normalize(encoder.embed_images(colours), dim=1)
        t = normalize(encoder.embed_texts(["red", "green", "blue"]), dim=1)
        assert (t @ i.T).argmax(dim=1).tolist() == [0, 1, 2]
        config = json.loads((tmp_path / "a" / "encoder" / "config.json").read_text())
        assert config["architecture"] == SMALL

    def test_an_image_without_captions_is_named(self):
        images = pa.table({"image_id": ["x", "y"]})
        captions = pa.table({"image_id": ["x", "z"], "caption": ["a dog", "of no image here"]})
        with pytest.raises(ValueError, match="'y'"):
            texts_by_image(captions, images["image_id"].to_pylist())


class TestGrids:
    def test_of_a_vit_are_the_patches_beside_the_pooled_token(self):
        encoder = clip()
        images = pixels(3)
        tower = encoder.model.visual
        tower.output_tokens = True
        with torch.no_grad():
            pooled, tokens = tower(normalise(images, MEAN, STD))
        tower.output_tokens = False
        grids = encoder.embed_patches(images)
        assert grids.shape[1:] == encoder.patch_shape == (16, 64)
        torch.testing.assert_close(grids, tokens)
        torch.testing.assert_close(encoder.embed_images(images), pooled)

    def test_of_a_resnet_are_what_its_pooling_reads(self):
        encoder = clip(RESNET)
        images = pixels(2, 64)
        read = []
        handle = encoder.model.visual.attnpool.register_forward_pre_hook(lambda module, inputs: read.append(inputs[0]))
        encoder.embed_images(images)
        handle.remove()
        grids = encoder.embed_patches(images)
        assert grids.shape[1:] == encoder.patch_shape == (4, 256)
        # Row by row: place 1 is right of place 0.
        torch.testing.assert_close(grids[:, 1], read[0][:, :, 0, 1])
        torch.testing.assert_close(grids[:, 2], read[0][:, :, 1, 0])
