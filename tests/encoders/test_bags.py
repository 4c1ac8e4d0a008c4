"""Bags of look-alikes against a naive search."""

import pytest
import torch

from captionlab.encoders.bags import all_in_bags, look_alike_bags


def points(images=40, seed=0):
    return torch.randn(images, 4, generator=torch.Generator().manual_seed(seed))


def naive_bags(embeddings, size, left):
    """The bags of the images `left`, by loops over all pairs of images."""
    found = []
    for image in left:
        cosine = {
            other: float(torch.nn.functional.cosine_similarity(embeddings[image], embeddings[other], dim=0))
            for other in left
            if other != image
        }
        near = sorted(cosine, key=lambda other: -cosine[other])[: size - 1]
        found.append((sum(cosine[other] for other in near), [image, *near]))
    used, bags = set(), []
    for _, bag in sorted(found, key=lambda one: -one[0]):
        if not used & {*bag}:
            used |= {*bag}
            bags.append(bag)
    return bags


@pytest.mark.parametrize("size", [2, 3, 7])
def test_bags_are_those_of_a_naive_search(size):
    assert look_alike_bags(3 * points(), size).tolist() == naive_bags(points(), size, range(40))


@pytest.mark.parametrize("size", [2, 3, 7, 40])
def test_all_images_are_in_bags_made_of_what_is_left(size):
    expected, left = [], [*range(40)]
    while len(left) >= size:
        bags = naive_bags(points(), size, left)
        expected += bags
        left = [image for image in left if not any(image in bag for bag in bags)]
    found = all_in_bags(points(), size)
    assert found.tolist() == expected
    assert found.shape == (40 // size, size)
    assert len({*found.ravel().tolist()}) == found.size


def test_planted_bags_are_found_the_tightest_first():
    noise = torch.randn(3, 5, generator=torch.Generator().manual_seed(1))
    first = torch.eye(5)[0]
    embeddings = [(first + 0.02 * (centre + 1) * noise).roll(centre, dims=1) for centre in range(5)]
    bags = look_alike_bags(torch.cat(embeddings), 3)
    assert [{*bag // 3} for bag in bags] == [{0}, {1}, {2}, {3}, {4}]


def test_too_few_images_are_a_sentence():
    with pytest.raises(ValueError, match="a bag of 4 images cannot be made of 3 images"):
        look_alike_bags(points(3), 4)
    assert all_in_bags(points(3), 4).shape == (0, 4)
