"""The log posterior against torch.distributions."""

import pytest
import torch
from torch import nn
from torch.distributions import Categorical, Normal

from hecka.errors import InputError
from hecka.inference.likelihood import member_losses
from hecka.inference.posterior import Gaussian, energies
from hecka.inference.svgd import SVGD
from hecka.inference.wgd import WGD
from hecka.members.ensemble import Ensemble
from hecka.types import Batch


def test_prior_is_the_normal_density():
    params = {"w": torch.randn(3, 4, 2), "b": torch.randn(3)}
    expected = sum(Normal(0, 0.3).log_prob(each).reshape(3, -1).sum(1) for each in params.values())
    torch.testing.assert_close(Gaussian(0.3).log_density(params), expected)


def test_prior_draws_have_its_spread():
    params = {"w": torch.zeros(50, 40, 10), "b": torch.zeros(50, 40, dtype=torch.float64)}
    fresh = Gaussian(0.3).draw(params, torch.Generator().manual_seed(0))
    assert {name: (each.shape, each.dtype) for name, each in fresh.items()} == {
        name: (each.shape, each.dtype) for name, each in params.items()
    }
    assert float(fresh["w"].std()) == pytest.approx(0.3, rel=0.02)
    assert float(fresh["w"].mean()) == pytest.approx(0, abs=0.01)


@pytest.mark.parametrize("std", [0.0, -1.0, float("nan"), float("inf")])
def test_prior_refuses_a_spread_that_is_none(std):
    with pytest.raises(InputError, match="Gaussian: expected a positive standard deviation"):
        Gaussian(std)


def test_energy_of_values_is_minus_the_log_likelihood_but_for_a_constant():
    targets, outputs = torch.randn(8), torch.randn(2, 8)
    expected = -Normal(outputs, 0.7).log_prob(targets).sum(1)
    actual = energies(member_losses(outputs, targets), targets, data_size=8, noise=0.7)
    torch.testing.assert_close(actual[0] - actual[1], expected[0] - expected[1])


def test_energy_of_classes_is_minus_the_log_likelihood():
    targets, logits = torch.randint(4, (8,)), torch.randn(2, 8, 4)
    expected = -Categorical(logits=logits).log_prob(targets).sum(1)
    torch.testing.assert_close(energies(member_losses(logits, targets), targets, 8, noise=1.0), expected)


@pytest.mark.parametrize("method", [SVGD, WGD])
def test_one_member_climbs_to_the_mode(method):
    """The direction of a single member is the slope of the log posterior: MAP.  Half of the data stand for all."""
    members = Ensemble(lambda: nn.Linear(3, 4), 1).double()
    inputs, targets = torch.randn(8, 3, dtype=torch.float64), torch.randint(4, (8,))
    params = members.params()

    done = method(data_size=16, prior=Gaussian(0.5))(members, params, Batch(inputs, targets), {}, torch.Generator())

    weight, bias = (params[name].detach()[0].requires_grad_() for name in ("weight", "bias"))
    log_likelihood = 2 * Categorical(logits=inputs @ weight.T + bias).log_prob(targets).sum()
    log_prior = sum(Normal(0, 0.5).log_prob(each).sum() for each in (weight, bias))
    (log_likelihood + log_prior).backward()
    torch.testing.assert_close(done.direction["weight"][0], -weight.grad)
    torch.testing.assert_close(done.direction["bias"][0], -bias.grad)
    torch.testing.assert_close(done.info["log_prior"], log_prior.detach())
