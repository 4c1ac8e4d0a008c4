import torch

from captionlab.training.baselines import NoBaseline, RunningMean


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
    baseline = NoBaseline()
    baseline.update(torch.tensor([3.0]))
    assert baseline.predict(None) == 0.0
