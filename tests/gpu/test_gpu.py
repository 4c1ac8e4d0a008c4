"""What only a GPU can show: the same results as on the processor, precisions, resumption, several GPUs, cost.

All of it is skipped where torch sees no GPU.
"""

import subprocess
import sys

import pytest
import torch

from captionlab.captioners.clipcap import ClipCap
from captionlab.encoders.clip import MEAN, STD, Clip, build
from captionlab.generation.contract import Decoding
from captionlab.generation.decoding import decode
from captionlab.schemas import COST, TRAINING
from captionlab.tables import read_table
from captionlab.training.loop.batches import ImageBatches
from captionlab.training.loop.checkpoints import Checkpoints
from captionlab.training.loop.trainer import train
from captionlab.training.objectives.baselines import RunningMean
from captionlab.training.objectives.reinforce import Reinforce
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


def finetune(folder, device, precision="float32", stop_after=None):
    """Losses of discriminative finetuning without dropout, by update."""
    torch.manual_seed(2)
    clip = Clip(build(ARCHITECTURE), {"architecture": ARCHITECTURE, "image_mean": MEAN, "image_std": STD}, device)
    visual, decoding = images().to(device), Decoding("greedy", 6)

    class Stopping(Reinforce):
        updates = 0

        def loss(self, model, batch):
            self.updates += 1
            if self.updates - 1 == stop_after:
                raise InterruptedError
            return super().loss(model, batch)

    train(
        captioner(device),
        Stopping(
            generate=lambda model, visual: decode(model, visual, decoding, Vocabulary()).tokens,
            decode=lambda tokens: [" ".join(f"w{token}" for token in row if token != END) for row in tokens.tolist()],
            end=END,
            reward=Discriminative("discriminative", clip.embed_texts, visual, BATCH, 5.0),
            baseline=RunningMean(),
            dropout=False,
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


@pytest.mark.parametrize("kind", ["greedy", "beam"])
def test_captions_of_the_processor(kind):
    decoding = Decoding(kind, 8) if kind == "greedy" else Decoding(kind, 8, beams=3)
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


def test_resumed(tmp_path):
    (tmp_path / "parts").mkdir()
    whole = finetune(tmp_path, "cuda")
    with pytest.raises(InterruptedError):
        finetune(tmp_path / "parts", "cuda", stop_after=7)
    assert Checkpoints(tmp_path / "parts" / "state", "f", last=7).newest()["step"] == 5
    assert finetune(tmp_path / "parts", "cuda") == pytest.approx(whole, abs=1e-3)


SCRIPT = """
import os
from types import SimpleNamespace
import torch
from captionlab.scripting import device, parallel_script
made = {"log": ["results/logs/job/it.log"], "input": [], "output": []}
snakemake = SimpleNamespace(**made, threads=1, rule="job", resources={"gpu": GPUS})
@parallel_script
def main(snakemake):
    ones = torch.ones(2000, 2000, device=device())
    (ones @ ones).sum().item()
    print("sees", torch.cuda.device_count())
    if torch.distributed.is_initialized():
        total = torch.ones(1, device=device())
        torch.distributed.all_reduce(total)
        print("together", int(total))
"""


@pytest.mark.parametrize("gpus", [1, 2])
def test_a_script_on_gpus(tmp_path, gpus):
    """It sees its GPU alone, also where each of several processes has one (by NCCL), and its cost is known."""
    if torch.cuda.device_count() < gpus:
        pytest.skip(f"torch sees fewer than {gpus} GPUs")
    (tmp_path / "results" / "logs" / "job").mkdir(parents=True)
    (tmp_path / "script.py").write_text(SCRIPT.replace("GPUS", str(gpus)))
    subprocess.run([sys.executable, "script.py"], cwd=tmp_path, check=True)
    log = (tmp_path / "results" / "logs" / "job" / "it.log").read_text()
    assert "sees 1\n" in log
    assert ("together 2\n" in log) == (gpus == 2)
    (cost,) = read_table(tmp_path / "results" / "cost" / "job" / "it.parquet", COST).to_pylist()
    assert cost["gpu_seconds"] == pytest.approx(gpus * cost["seconds"])
    assert cost["gpu_memory_mb"] > 16
    assert cost["device"] == torch.cuda.get_device_name()
