"""The trainer against a hand-written loop, and its promises: accumulation, schedules, clipping, log, no silent NaN."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from support.training_stand_in import END, TinyCaptioner, data

from captionlab.storage.schemas import TRAINING
from captionlab.storage.tables import read_table
from captionlab.training.loop.batches import CaptionBatches
from captionlab.training.loop.optimizers import build_optimizer, learning_rate
from captionlab.training.loop.trainer import Validation, train
from captionlab.training.objectives.cross_entropy.objective import CrossEntropy

ADAM = {"kind": "adam", "lr": 0.01, "steps": 9}


@pytest.fixture
def batches():
    visual, captions = data()
    return CaptionBatches(visual, captions, size=6, seed=3, padding=END)


def run(model, batches, folder, validation=None, **optimizer):
    options = {name: value for name, value in {**ADAM, **optimizer}.items() if value is not None}
    train(
        model,
        CrossEntropy(),
        batches,
        options,
        seed=5,
        log_path=folder / "training.parquet",
        state_directory=folder / "state",
        fingerprint="f",
        device="cpu",
        validation=validation,
    )
    log = read_table(folder / "training.parquet", TRAINING).to_pylist()
    return {name: [row["value"] for row in log if row["statistic"] == name] for name in {r["statistic"] for r in log}}


def differences(first, second):
    pairs = zip(first.state_dict().values(), second.state_dict().values(), strict=True)
    return max(float((a - b).abs().max()) for a, b in pairs)


def test_adam_by_hand(batches, tmp_path):
    """Adam, weight decay of matrices, warm-up, linear schedule and norm clipping, written out again in float64."""
    ours, model = TinyCaptioner(dropout=0.0), TinyCaptioner(dropout=0.0).double()
    log = run(ours, batches, tmp_path, kind="adamw", weight_decay=0.1, warmup=3, schedule="linear", clip_norm=0.5)
    names = [name for name, _ in model.named_parameters()]
    values = {n: p.detach().clone() for n, p in model.named_parameters()}
    m, v = ({n: torch.zeros_like(p) for n, p in values.items()} for _ in range(2))
    for step in range(9):
        model.load_state_dict(values)
        batch = batches[step]
        log_probs = model.log_probs(batch.visual.double(), batch.tokens, batch.mask)
        loss = -log_probs.sum() / batch.mask.sum()
        gradients = dict(zip(names, torch.autograd.grad(loss, list(model.parameters())), strict=True))
        norm = math.sqrt(sum(float((g**2).sum()) for g in gradients.values()))
        rate = 0.01 * (step / 3 if step < 3 else (9 - step) / 6)
        for n, g in gradients.items():
            g = g * min(1.0, 0.5 / (norm + 1e-6))
            if g.ndim > 1:
                values[n] = values[n] * (1 - rate * 0.1)
            m[n], v[n] = 0.9 * m[n] + 0.1 * g, 0.999 * v[n] + 0.001 * g**2
            m_hat, v_hat = m[n] / (1 - 0.9 ** (step + 1)), v[n] / (1 - 0.999 ** (step + 1))
            values[n] = values[n] - rate * m_hat / (v_hat.sqrt() + 1e-8)
        assert log["loss"][step] == pytest.approx(loss.item(), rel=1e-4)
        assert log["gradient_norm"][step] == pytest.approx(norm, rel=1e-3)
        assert log["learning_rate"][step] == pytest.approx(rate)
    model.load_state_dict(values)
    assert differences(ours.double(), model) < 1e-4


@pytest.mark.parametrize("parts", [2, 4])
def test_accumulation_is_the_whole_batch(batches, tmp_path, parts):
    """Captions differ in length, so the parts must be weighted by their tokens."""
    whole, pieces = TinyCaptioner(dropout=0.0), TinyCaptioner(dropout=0.0)
    log = run(whole, batches, tmp_path / "whole")
    log_of_pieces = run(pieces, batches, tmp_path / "pieces", accumulate=parts)
    assert log["loss"] == pytest.approx(log_of_pieces["loss"], rel=1e-5)
    assert differences(whole, pieces) < 1e-4


def test_clip_value_limits_every_gradient(batches, tmp_path):
    free, clipped = TinyCaptioner(dropout=0.0), TinyCaptioner(dropout=0.0)
    run(free, batches, tmp_path / "a", steps=1)
    run(clipped, batches, tmp_path / "b", steps=1, clip_value=1e-12)
    # Adam's first step is lr * g / (|g| + eps): nothing is left of it when g is far below eps.
    start = TinyCaptioner(dropout=0.0)
    assert differences(free, start) > 0.009
    assert differences(clipped, start) < 1e-5


def test_frozen_parameters_stay(batches, tmp_path):
    model = TinyCaptioner()
    model.table.requires_grad_(False)
    run(model, batches, tmp_path)
    assert torch.equal(model.table.weight, TinyCaptioner().table.weight)
    assert not torch.equal(model.out.weight, TinyCaptioner().out.weight)
    with pytest.raises(ValueError, match="frozen"):
        build_optimizer(model.requires_grad_(False).parameters(), ADAM)


def test_log_has_each_update_once(batches, tmp_path):
    run(TinyCaptioner(), batches, tmp_path, steps=None, epochs=4)
    table = read_table(tmp_path / "training.parquet", TRAINING).to_pandas()
    assert table.groupby("statistic").step.apply(list).tolist() == [list(range(1, 13))] * table.statistic.nunique()
    assert (table.epoch == (table.step - 1) // 3).all()
    assert set(table.statistic) == {"loss", "gradient_norm", "learning_rate", "caption_length"}


def test_seed_decides_about_dropout(batches, tmp_path):
    first, again = TinyCaptioner(dropout=0.5), TinyCaptioner(dropout=0.5)
    run(first, batches, tmp_path / "a")
    torch.manual_seed(99)
    run(again, batches, tmp_path / "b")
    assert differences(first, again) == 0.0


def test_bfloat16_is_about_the_same(batches, tmp_path):
    exact, coarse = TinyCaptioner(dropout=0.0), TinyCaptioner(dropout=0.0)
    log = run(exact, batches, tmp_path / "a")
    coarse_log = run(coarse, batches, tmp_path / "b", precision="bfloat16")
    assert coarse.out.weight.dtype == torch.float32
    assert 0 < np.abs(np.subtract(log["loss"], coarse_log["loss"])).max() < 0.05


def test_validation_keeps_the_first_of_the_best_weights(batches, tmp_path):
    """Scores of updates 0, 2, 4, 6 and 8; the weights are those of a training of four updates, never those of none."""
    kept, short = TinyCaptioner(), TinyCaptioner()
    scores, modes = iter([0.9, 0.3, 0.7, 0.7, 0.1]), []

    def score(model):
        modes.append((model.training, torch.is_grad_enabled()))
        return next(scores)

    log = run(kept, batches, tmp_path / "kept", validation=Validation(score, 2, "luck"))
    assert log["validation_luck"] == [0.9, 0.3, 0.7, 0.7, 0.1]
    assert modes == [(False, False)] * 5
    run(short, batches, tmp_path / "short", steps=4)
    assert differences(kept, short) == 0.0
    with pytest.raises(ValueError, match=r"validation\.every is 10 and there are 9 updates"):
        run(TinyCaptioner(), batches, tmp_path / "never", validation=Validation(score, 10, "luck"))


def test_a_warmup_is_no_longer_than_the_training(batches, tmp_path, answers):
    epoch = len(batches)
    run(TinyCaptioner(), batches, tmp_path / "all", steps=None, epochs=1, warmup=epoch)
    with pytest.raises(ValueError, match="warmup") as raised:
        run(TinyCaptioner(), batches, tmp_path / "more", steps=None, epochs=1, warmup=epoch + 1)
    answers.hold("`warmup` of more updates than the epochs have", raised.value, "optimizer.warmup")


@pytest.mark.parametrize("lengths", [{"steps": 4.0}, {"steps": None, "epochs": 1.0}])
def test_numbers_of_updates_may_be_written_as_floats(batches, tmp_path, lengths):
    assert len(run(TinyCaptioner(), batches, tmp_path, **lengths)["loss"]) == (lengths["steps"] or len(batches))


def test_any_thread_can_train(batches, tmp_path):
    """Only the main thread of a process may say what a signal does."""
    with ThreadPoolExecutor() as pool:
        assert len(pool.submit(run, TinyCaptioner(), batches, tmp_path, steps=2).result()["loss"]) == 2


def test_an_unknown_optimizer_is_refused():
    with pytest.raises(ValueError, match=r"optimizer\.kind is 'sgd'; it must be adam or adamw"):
        build_optimizer(TinyCaptioner().parameters(), {**ADAM, "kind": "sgd"})


def test_a_loss_that_is_not_finite_stops_the_training(batches, tmp_path):
    class Diverges(CrossEntropy):
        steps = 0

        def loss(self, model, batch):
            self.steps += 1
            loss, statistics = super().loss(model, batch)
            return loss * (float("nan") if self.steps == 4 else 1), statistics

    model = TinyCaptioner()
    with pytest.raises(FloatingPointError, match=r"update 4 is not finite.*caption length"):
        train(
            model,
            Diverges(),
            batches,
            ADAM,
            seed=5,
            log_path=tmp_path / "training.parquet",
            state_directory=tmp_path / "state",
            fingerprint="f",
            device="cpu",
        )
    assert [path.name for path in tmp_path.rglob("*")] == ["state"]
    assert all(bool(p.isfinite().all()) for p in model.parameters())


@pytest.mark.parametrize("kind", ["constant", "linear", "cosine"])
def test_schedules(kind):
    config = {"lr": 2.0, "warmup": 4, "schedule": kind}
    rates = [learning_rate(config, step, 20) for step in range(20)]
    assert rates[:5] == [0.0, 0.5, 1.0, 1.5, 2.0]
    shares = [(step - 4) / 16 for step in range(4, 20)]
    after = {
        "constant": [2.0] * 16,
        "linear": [2.0 - 2.0 * share for share in shares],
        "cosine": [1.0 + math.cos(math.pi * share) for share in shares],
    }
    assert rates[4:] == pytest.approx(after[kind])


def test_staircase():
    config = {"lr": 2.0, "schedule": "staircase", "decay": 0.8, "decay_epochs": 3, "warmup": 2}
    rates = [learning_rate(config, step, 100, per_epoch=4) for step in range(36)]
    steps = [2.0] * 12 + [2.0 * 0.8] * 12 + [2.0 * 0.8 * 0.8] * 12
    assert rates == pytest.approx([0.0, 1.0, *steps[2:]])
