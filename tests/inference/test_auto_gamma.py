import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from hecka.errors import InputError
from hecka.inference.auto_gamma import AutoGamma, hold_anchor
from hecka.inference.independent import Independent
from hecka.inference.repulsive import Repulsive
from hecka.members.ensemble import Ensemble

CPU = torch.device("cpu")


def updated(auto, losses, steps, trivial=1.0):
    """log gamma after every step with the same losses."""
    state, logs = auto.start(CPU), []
    for _ in range(steps):
        state = auto.update(state, torch.tensor(losses), torch.tensor(trivial))
        logs.append(state["log_gamma"].item())
    return logs


def slow_dual_ascent(gaps, allowed):
    """The rule as it is documented, in plain numbers."""
    log_gamma, price, logs = -2.0, 0.0, []
    for gap in gaps:
        price = 0.9 * price + 0.1 * gap
        log_gamma += 0.05 * min(1.0, max(-1.0, (allowed - price) / allowed))
        log_gamma = min(10.0, max(-10.0, log_gamma))
        logs.append(log_gamma)
    return logs


def test_gamma_rises_while_diversity_is_cheap_and_falls_while_it_is_dear():
    auto = AutoGamma(tolerance=0.1)
    cheap, dear = updated(auto, [1.0, 1.0, 1.1], 5), updated(auto, [1.0, 3.0, 5.0], 5)
    assert cheap == sorted(set(cheap))
    assert dear == sorted(set(dear), reverse=True)


@pytest.mark.parametrize(("losses", "bound"), [([1.0, 0.0], 10.0), ([0.0, 1.0], -10.0)])
def test_gamma_is_bounded(losses, bound):
    assert updated(AutoGamma(), losses, 300)[-1] == pytest.approx(bound)


@pytest.mark.parametrize("gap", [-0.5, 0.0, 0.02, 0.03, 0.2])
def test_gamma_follows_the_documented_rule(gap):
    """Two members beside the anchor, whose losses lie ``gap`` above its own on average."""
    logs = updated(AutoGamma(tolerance=0.01), [0.7, 0.7 + 2 * gap, 0.7], 30, trivial=2.0)
    assert logs == pytest.approx(slow_dual_ascent([gap] * 30, allowed=0.02), abs=1e-4)


def test_a_lone_member_pays_nothing():
    assert updated(AutoGamma(), [5.0], 3) == pytest.approx(slow_dual_ascent([0.0] * 3, allowed=0.01))


def test_gamma_learns_from_the_members_losses_on_inliers(modules, batch):
    ensemble, method = Ensemble.from_modules(modules, taps=["1"]), Repulsive(gamma="auto", tolerance=0.05)
    state, gaps = method.start(ensemble), []
    for _ in range(3):
        step = method(ensemble, ensemble.params(), batch, state, torch.Generator())
        used, state = step.info["gamma"], step.state
        outputs = [module(batch.inputs) for module in modules]
        classes = not batch.targets.is_floating_point()
        first, second, third = (
            (F.cross_entropy if classes else F.mse_loss)(one, batch.targets).item() for one in outputs
        )
        gaps.append((second + third) / 2 - first)
        allowed = 0.05 * (math.log(3) if classes else batch.targets.var(correction=0).item())
        logs = slow_dual_ascent(gaps, allowed)
        assert state["log_gamma"].item() == pytest.approx(logs[-1])
        assert used.item() == pytest.approx(math.exp([-2.0, *logs][-2]))  # what had been learnt before this batch


def test_the_anchor_learns_as_if_it_were_alone_and_the_others_repel(modules, batch, execution):
    batch = replace(batch, outliers=None)
    ensemble = Ensemble.from_modules(modules, taps=["1"], execution=execution)

    def direction(method):
        return method(ensemble, ensemble.params(), batch, method.start(ensemble), torch.Generator()).direction

    plain, auto, fixed = (
        direction(method)["0.weight"] for method in (Independent(), Repulsive(), Repulsive(gamma=math.exp(-2)))
    )
    torch.testing.assert_close(auto[0], plain[0])
    torch.testing.assert_close(auto[1:], fixed[1:], rtol=1e-6, atol=1e-9)
    assert not torch.isclose(fixed, plain).any()


@pytest.mark.parametrize("form", [torch.Tensor, tuple])
def test_the_anchors_features_keep_their_values_and_lose_their_gradient(form):
    features = torch.randn(3, 4, 2, requires_grad=True)
    held = hold_anchor({"a": features if form is torch.Tensor else tuple(features)})["a"]
    assert all(torch.equal(one, other) for one, other in zip(held, features, strict=True))
    sum(member.sum() for member in held).backward()
    assert features.grad.amax((1, 2)).tolist() == features.grad.amin((1, 2)).tolist() == [0, 1, 1]


@pytest.mark.parametrize("tolerance", [0.0, -1.0, math.nan])
def test_a_tolerance_must_be_positive(modules, tolerance):
    ensemble = Ensemble.from_modules(modules)
    with pytest.raises(InputError, match="positive tolerance"):
        Repulsive(gamma="auto", tolerance=tolerance).start(ensemble)
