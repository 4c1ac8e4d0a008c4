"""What only a GPU can show: the same results as on the processor, precisions, resumption, several GPUs, cost.

All of it is skipped where torch sees no GPU.
"""

from functools import partial

import pytest
import torch
from support.decodings import decoding_of
from support.tiny_captioners import BUILT

from captionlab.captioners.clipcap.captioner import ClipCap
from captionlab.encoders.clip.encoder import MEAN, STD, Clip, build
from captionlab.generation import replay
from captionlab.generation.decoding import decode, decode_with_gradient
from captionlab.generation.replay import Recording, Replayed
from captionlab.storage.schemas import COST, TRAINING
from captionlab.storage.tables import read_table
from captionlab.training.loop.batches import ImageBatches
from captionlab.training.loop.checkpoints import Checkpoints
from captionlab.training.loop.trainer import train
from captionlab.training.objectives.baselines import RunningMean
from captionlab.training.objectives.reinforce.objective import Reinforce
from captionlab.training.rewards.retrieval import Discriminative

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no GPU")]

SIZES = {"prefix_size": 16, "prefix_length": 4, "width": 64, "layers": 2, "heads": 4, "positions": 24}
END, BATCH, STEPS = 0, 8, 12
ARCHITECTURE = {
    "embed_dim": 16,
    "vision_cfg": {"image_size": 32, "layers": 1, "width": 64, "patch_size": 16},
    "text_cfg": {"context_length": 24, "vocab_size": 49408, "width": 64, "heads": 1, "layers": 1},
}


class Vocabulary:
    end = END


def captioner(device):
    torch.manual_seed(0)
    model = ClipCap(**SIZES, vocabulary=50)
    # Random weights of the usual size find every word about as probable.
    for parameter in model.parameters():
        parameter.data *= 3
    return model.to(device)


def images():
    return torch.randn(40, SIZES["prefix_size"], generator=torch.Generator().manual_seed(1))


def finetune(folder, device, precision="float32", fails_after=None, dropout=False):
    """Losses of discriminative finetuning, by update."""
    torch.manual_seed(2)
    clip = Clip(build(ARCHITECTURE), {"architecture": ARCHITECTURE, "image_mean": MEAN, "image_std": STD}, device)
    visual, decoding = images().to(device), decoding_of("greedy", 6)

    class Stopping(Reinforce):
        updates = 0

        def loss(self, model, batch):
            self.updates += 1
            if self.updates - 1 == fails_after:
                raise InterruptedError
            return super().loss(model, batch)

    train(
        captioner(device),
        Stopping(
            generate=lambda model, visual: decode(model, visual, decoding, Vocabulary()).tokens,
            decode=lambda tokens: [" ".join(f"w{token}" for token in row if token != END) for row in tokens.tolist()],
            ends=(END,),
            reward=Discriminative("discriminative", clip.embed_texts, visual, BATCH, 5.0),
            baseline=RunningMean(),
            dropout=dropout,
        ),
        ImageBatches(visual, BATCH, seed=3),
        {"kind": "adam", "lr": 1e-3, "steps": STEPS, "precision": precision},
        seed=4,
        log_path=folder / "training.parquet",
        state_directory=folder / "state",
        fingerprint="f",
        device=device,
        checkpoint_steps=5,
    )
    log = read_table(folder / "training.parquet", TRAINING).to_pandas()
    return log[log.statistic == "loss"].value.tolist()


DECODINGS = {
    "greedy": decoding_of("greedy", 8),
    "samples": decoding_of("sample", 8, samples=3),
    "beam": decoding_of("beam", 8, beams=3),
    "beam by oscar": decoding_of("beam", 8, beams=3, rules="oscar"),
    "camel": decoding_of("beam", 8, beams=3, rules="camel"),
}


@pytest.mark.parametrize("family", BUILT)
@pytest.mark.parametrize("name", DECODINGS)
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_replayed_captions(family, name, precision):
    """What is replayed for a batch is what the same rows are without, also when the weights have changed in place.

    ClipCap drops units, and the same ones.
    """
    torch.manual_seed(0)
    captioner = BUILT[family]()[0].to("cuda").train(family == "clipcap")
    batches = [BUILT[family]()[1].to("cuda") for _ in range(4)]

    decoding = DECODINGS[name]

    @torch.no_grad()
    def found(visual, by):
        torch.manual_seed(7)
        generator = torch.Generator("cuda").manual_seed(6)
        with torch.autocast("cuda", torch.bfloat16, enabled=precision == "bfloat16"):
            return by(visual, decoding, Vocabulary(), generator)

    for number, visual in enumerate(batches):
        replayed = found(visual, partial(decode, captioner))
        recordings = [*replay._recordings[captioner].kept.values()]
        assert len(recordings) == (number > 0)
        for recording in recordings:
            assert recording.held > 0
            unrecorded = Replayed(captioner, Recording(visual.clone(), recording.copies, recording.moving))
            plain = found(visual, partial(decode_with_gradient, unrecorded))
            assert torch.equal(replayed.tokens, plain.tokens)
            assert torch.equal(replayed.log_prob, plain.log_prob)
        for parameter in captioner.parameters():
            parameter.data.mul_(1.5)


@pytest.mark.parametrize("kind", ["greedy", "beam"])
def test_captions_of_the_processor(kind):
    decoding = decoding_of(kind, 8) if kind == "greedy" else decoding_of(kind, 8, beams=3)
    one, other = (decode(captioner(at).eval(), images().to(at), decoding, Vocabulary()) for at in ("cpu", "cuda"))
    assert torch.equal(one.tokens, other.tokens.cpu())
    assert torch.allclose(one.log_prob, other.log_prob.cpu(), atol=1e-3)


def test_embeddings_of_the_processor():
    pixels = torch.randint(256, (6, 3, 32, 32), dtype=torch.uint8, generator=torch.Generator().manual_seed(5))
    found = []
    for device in ("cpu", "cuda"):
        torch.manual_seed(2)
        clip = Clip(build(ARCHITECTURE), {"architecture": ARCHITECTURE, "image_mean": MEAN, "image_std": STD}, device)
        found.append((clip.embed_images(pixels).cpu(), clip.embed_texts(["a cat", "two dogs"]).cpu()))
    (images_cpu, texts_cpu), (images_gpu, texts_gpu) = found
    assert torch.cosine_similarity(images_cpu, images_gpu).min() > 0.999  # half precision
    assert torch.allclose(texts_cpu, texts_gpu, atol=1e-4)


def test_losses_of_the_processor(tmp_path):
    (tmp_path / "gpu").mkdir()
    assert finetune(tmp_path / "gpu", "cuda")[0] == pytest.approx(finetune(tmp_path, "cpu")[0], abs=1e-3)


@pytest.mark.parametrize("precision", ["tf32", "bfloat16"])
def test_precisions(tmp_path, precision):
    (tmp_path / "coarse").mkdir()
    exact, coarse = finetune(tmp_path, "cuda"), finetune(tmp_path / "coarse", "cuda", precision)
    assert coarse[0] == pytest.approx(exact[0], abs=0.1)
    assert torch.get_float32_matmul_precision() == ("high" if precision == "tf32" else "highest")


@pytest.mark.parametrize("dropout", [False, True])
def test_resumed(tmp_path, dropout):
    """Also in what is dropped: the first captions of a training are not replayed, all others are."""
    (tmp_path / "parts").mkdir()
    whole = finetune(tmp_path, "cuda", dropout=dropout)
    with pytest.raises(InterruptedError):
        finetune(tmp_path / "parts", "cuda", fails_after=7, dropout=dropout)
    assert Checkpoints(tmp_path / "parts" / "state", "f").newest()["step"] == 5
    assert finetune(tmp_path / "parts", "cuda", dropout=dropout) == pytest.approx(whole, abs=1e-3)


@pytest.mark.parametrize("gpus", [1, 2])
def test_a_script_on_gpus(script, tmp_path, gpus):
    """It sees its GPU alone, also where each of several processes has one (by NCCL), and its cost is known."""
    if torch.cuda.device_count() < gpus:
        pytest.skip(f"torch sees fewer than {gpus} GPUs")
    body = """
        import torch
        from captionlab.jobs.scripting import device
        ones = torch.ones(2000, 2000, device=device())
        (ones @ ones).sum().item()
        print("sees", torch.cuda.device_count())
        if torch.distributed.is_initialized():
            total = torch.ones(1, device=device())
            torch.distributed.all_reduce(total)
            print("together", int(total))
    """
    code, log = script(body, parallel=True, gpu=gpus)
    assert code == 0, log
    assert "sees 1\n" in log
    assert ("together 2\n" in log) == (gpus == 2)
    (cost,) = read_table(tmp_path / "results" / "cost" / "job" / "of" / "it.parquet", COST).to_pylist()
    assert cost["gpu_seconds"] == pytest.approx(gpus * cost["seconds"])
    assert cost["gpu_memory_mb"] > 16
    assert cost["device"] == torch.cuda.get_device_name()
