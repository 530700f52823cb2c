"""What `_half_of_gram` and `_in_turn` leave as it was, and that the second does what it is for."""

import pytest
import torch
from torch import nn

from hecka.bench.measure import peak_memory
from hecka.diversity.terms import HECKA
from hecka.members.ensemble import Ensemble
from hecka.similarity.cka import member_grams
from hecka.similarity.kernels import linear_gram


@pytest.mark.parametrize("count", [4, 31, 32, 33, 95, 100, 300])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_half_of_a_gram_is_the_whole(count, dtype):
    features = torch.randn(count, 7, generator=torch.Generator().manual_seed(0)).to(dtype)
    gram, wide = linear_gram(features), features.double().numpy()
    torch.testing.assert_close(gram.double(), torch.from_numpy(wide @ wide.T), rtol=1e-5, atol=1e-5)


def test_members_vmapped_have_the_same_gram_and_gradient():
    features = torch.randn(3, 40, 5, dtype=torch.float64, requires_grad=True)
    looped = torch.stack([linear_gram(each) for each in features])
    vmapped = torch.vmap(linear_gram, in_dims=1)(features.movedim(0, 1))
    weights = torch.randn_like(looped)
    torch.testing.assert_close(vmapped, looped)
    torch.testing.assert_close(*(torch.autograd.grad(grams, features, weights)[0] for grams in (vmapped, looped)))


def net():
    """Many features and few weights, whose gradients stay."""
    return nn.Sequential(*(layer for _ in range(6) for layer in (nn.Conv2d(1, 1, 3, padding=1), nn.Tanh())))


def energy_and_direction(ensemble, inputs):
    logits, features = ensemble(inputs)
    loss = logits.square().mean() + HECKA()(features)
    return torch.autograd.grad(loss, list(ensemble.params().values()))


@pytest.mark.parametrize("execution", ["vmap", "loop"])
def test_features_gradients_do_not_exist_all_at_once(execution, monkeypatch):
    """Six layers of 1600 features on 20 examples: their gradients together are six times one's."""
    ensemble = Ensemble(net, 4, taps=["1", "3", "5", "7", "9", "11"], execution=execution)
    inputs = torch.randn(20, 1, 40, 40)

    def peak():
        return peak_memory(lambda: energy_and_direction(ensemble, inputs), torch.device("cpu"))

    in_turn, expected = peak(), energy_and_direction(ensemble, inputs)
    monkeypatch.setattr("hecka.similarity.cka._in_turn", lambda gram, features: gram)
    at_once = peak()
    one_layer = 4 * 20 * 1600 * 4  # bytes
    assert at_once - in_turn > 2 * one_layer
    for actual, other in zip(energy_and_direction(ensemble, inputs), expected, strict=True):
        torch.testing.assert_close(actual, other)


def test_recorded_features_may_be_leaves():
    features = torch.randn(3, 10, 400, requires_grad=True)
    assert member_grams(features).requires_grad
    assert member_grams(tuple(features.detach())).shape == (3, 10, 10)
