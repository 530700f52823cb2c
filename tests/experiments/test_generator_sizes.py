"""Generators of three sizes: their counts of parameters by hand, and the command."""

from itertools import pairwise

import torch

from hecka.experiments.generator_sizes import SIZES, generator_sizes

LAYERS = [(2 + 1) * 30, (30 + 1) * 40, (40 + 1) * 30, (30 + 1) * 4]  # weights and biases that each generator writes


def perceptron(*sizes):
    """Weights and biases, and the two vectors of a norm after the first matrix and every second one, but the last."""
    dense = sum((fan_in + 1) * fan_out for fan_in, fan_out in pairwise(sizes))
    return dense + sum(2 * size for size in sizes[1:-1:2])


def test_published_sizes_have_the_published_shapes():
    expected = perceptron(8, 24, 32, 48, 4 * 12) + perceptron(12, 32, 48, LAYERS[-1])
    expected += sum(perceptron(12, 14, 28, written) for written in LAYERS[:-1])
    members = SIZES["published sizes"](0)
    assert sum(each.numel() for each in members.parameters() if each.requires_grad) == expected
    assert members(torch.randn(7, 2)).logits.shape == (30, 7, 4)


def test_a_seed_gives_the_same_generators_twice_and_another_seed_others():
    make = SIZES["published sizes"]
    x = torch.randn(5, 2)
    first, again, other = (make(seed).eval()(x).logits for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_command_writes_scores_and_counts(tmp_path):
    said = generator_sizes(tmp_path, steps=2)
    assert (tmp_path / "generator-sizes.png").read_bytes().startswith(b"\x89PNG")
    assert all(f"{size}: hypernetwork" in said for size in SIZES)
    assert "116,444" in said
