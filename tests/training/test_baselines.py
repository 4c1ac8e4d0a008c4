from types import SimpleNamespace

import torch

from captionlab.training.objectives.baselines import Baseline, InTurn, RunningMean, build_baseline


def test_running_mean_is_the_mean_of_the_batch_means():
    baseline, means = RunningMean(), []
    for size in (5, 5, 2, 7):
        assert abs(baseline.predict(None) - (sum(means) / len(means) if means else 0.0)) < 1e-12
        rewards = torch.randn(size, dtype=torch.float64)
        means.append(sum(rewards.tolist()) / size)
        baseline.update(rewards)


def test_running_mean_goes_on_from_its_state():
    first, second = RunningMean(), RunningMean()
    first.update(torch.tensor([1.0, 2.0]))
    second.load_state_dict(first.state_dict())
    for baseline in (first, second):
        baseline.update(torch.tensor([5.5]))
        assert baseline.predict(None) == 3.5


def test_no_baseline_stays_zero():
    baseline = Baseline()
    baseline.update(torch.tensor([3.0]))
    assert baseline.predict(None) == 0.0


def test_rewards_that_take_turns_have_a_running_mean_each():
    config = {"baseline": "running-mean", "reward": {"kind": "alternate", "of": [{"kind": "cider"}, {"kind": "bleu"}]}}
    baseline, seen = build_baseline(config), ([], [])
    for step in range(7):
        of_turn = seen[step % 2]
        expected = sum(of_turn) / len(of_turn) if of_turn else 0.0
        assert abs(baseline.predict(SimpleNamespace(step=step)) - expected) < 1e-12
        of_turn.append(100.0 * (step % 2) + step)
        baseline.update(torch.tensor([of_turn[-1] - 1, of_turn[-1] + 1]))
    again = InTurn([RunningMean(), RunningMean()])
    again.load_state_dict(baseline.state_dict())
    for step in (7, 8):
        batch = SimpleNamespace(step=step)
        assert again.predict(batch) == baseline.predict(batch) != 0.0


def test_one_reward_has_one_baseline():
    reward = {"kind": "discriminative"}
    assert isinstance(build_baseline({"baseline": "running-mean", "reward": reward}), RunningMean)
    assert type(build_baseline({"baseline": "none", "reward": reward})) is Baseline
