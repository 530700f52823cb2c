import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch.distributions import Normal, kl_divergence

from hecka.diversity.terms import HECKA, PairwiseCKA
from hecka.errors import InputError
from hecka.inference.independent import Independent
from hecka.inference.repulsive import Repulsive
from hecka.members.ensemble import Ensemble

TAPS = ["1", "2"]
TERM = HECKA()


def riesz(cosine):
    return 1.0025 / (torch.acos(cosine / 1.065) ** 2 + 0.0025)


def slow_energy(layers, value):
    """Mean over pairs of a function of their CKA (cosine kernel), the second of two layers counting twice."""
    total = 0
    for weight, features in zip((1 / 3, 2 / 3), layers, strict=True):
        center = torch.eye(len(features[0]), dtype=torch.float64) - 1 / len(features[0])
        grams = [center @ F.normalize(x) @ F.normalize(x).T @ center for x in features]
        pairs = [(i, j) for i in range(len(grams)) for j in range(len(grams)) if i != j]
        for i, j in pairs:
            total = total + weight / len(pairs) * value(F.cosine_similarity(grams[i].flatten(), grams[j].flatten(), 0))
    return total


def slow_loss(modules, batch, beta_in, gamma, gamma_ood=0.0, beta=0.0, ood_value=riesz, hidden=None):
    """The paper's loss, one network after the other and inliers apart from outliers; and its parts."""
    hidden, hidden_outliers = hidden or ([module[:2](batch.inputs) for module in modules], None)
    outputs = [module[2](features) for module, features in zip(modules, hidden, strict=True)]
    classes = not batch.targets.is_floating_point()
    fits = [F.cross_entropy(one, batch.targets) if classes else F.mse_loss(one, batch.targets) for one in outputs]
    parts = {"loss": sum(fits) / len(fits), "energy": slow_energy((hidden, outputs), riesz)}
    loss = beta_in * parts["loss"] + gamma * parts["energy"]
    if batch.outliers is None:
        return loss, parts
    hidden = hidden_outliers or [module[:2](batch.outliers) for module in modules]
    outputs = [module[2](features) for module, features in zip(modules, hidden, strict=True)]
    parts["energy_ood"] = slow_energy((hidden, outputs), ood_value)
    if classes:
        mean = sum(one.softmax(-1) for one in outputs) / len(outputs)
        parts["doubt_ood"] = -(mean * mean.log()).sum(-1).mean()
    else:
        mean = sum(outputs) / len(outputs)
        between = sum((one - mean) ** 2 for one in outputs) / len(outputs)
        centre, scale = batch.targets.mean(0), ((batch.targets - batch.targets.mean()) ** 2).mean()
        common, ignorant = Normal(mean, (between + scale).sqrt()), Normal(centre, (2 * scale).sqrt())
        parts["doubt_ood"] = -kl_divergence(common, ignorant).mean()
    return loss + gamma_ood * parts["energy_ood"] - beta * parts["doubt_ood"], parts


def slow_direction(modules, loss):
    """The gradient with respect to every network's own parameters, stacked by name."""
    gradients = [torch.autograd.grad(loss, list(module.parameters()), retain_graph=True) for module in modules]
    names = [name for name, _ in modules[0].named_parameters()]
    return {name: torch.stack(each) for name, *each in zip(names, *gradients, strict=True)}


def step_of(method, modules, batch, execution="auto", state=None):
    ensemble = Ensemble.from_modules(modules, taps=TAPS, execution=execution)
    state = method.start(ensemble) if state is None else state
    return method(ensemble, ensemble.params(), batch, state, torch.Generator())


@pytest.mark.parametrize(
    ("settings", "weights"),
    [
        ({"gamma": 0.5}, {"beta_in": 3, "gamma": 0.5, "gamma_ood": 0.5, "beta": 1}),
        (
            {"gamma": 0.5, "gamma_ood": 2.0, "beta": 0.75, "beta_in": 1.5},
            {"beta_in": 1.5, "gamma": 0.5, "gamma_ood": 2, "beta": 0.75},
        ),
        ({"gamma": 0.0, "gamma_ood": 1.5}, {"beta_in": 3, "gamma": 0, "gamma_ood": 1.5, "beta": 1}),
        ({"gamma": 0.5, "gamma_ood": 0.0, "beta": 0.0}, {"beta_in": 3, "gamma": 0.5}),
        (
            {"gamma": 0.5, "outlier_term": PairwiseCKA()},
            {"beta_in": 3, "gamma": 0.5, "gamma_ood": 0.5, "beta": 1, "ood_value": lambda cosine: cosine},
        ),
    ],
    ids=["defaults", "all weights", "outliers alone", "inliers alone", "another term"],
)
@pytest.mark.parametrize("outliers", [True, False])
def test_the_direction_is_the_gradient_of_the_papers_loss(modules, batch, execution, settings, weights, outliers):
    batch = batch if outliers else replace(batch, outliers=None)
    step = step_of(Repulsive(TERM, **settings), modules, batch, execution)
    loss, parts = slow_loss(modules, batch, **weights)
    torch.testing.assert_close(step.direction, slow_direction(modules, loss))

    used = {name for name in parts if name in ("loss", *step.info)}
    assert used == set(step.info)
    for name, value in step.info.items():
        assert value.item() == pytest.approx(parts[name].item())
        assert not value.requires_grad


def test_repulsion_warms_up_step_by_step_and_the_rest_does_not(modules, batch):
    method = Repulsive(TERM, gamma=0.5, gamma_ood=2.0, beta=0.75, warmup=4)
    state = None
    for ramp in (0.25, 0.5, 0.75, 1.0, 1.0):
        step = step_of(method, modules, batch, state=state)
        loss, _ = slow_loss(modules, batch, 3, ramp * 0.5, ramp * 2.0, 0.75)
        torch.testing.assert_close(step.direction, slow_direction(modules, loss))
        state = step.state


@pytest.mark.parametrize("beta_in", [None, 1.5])
def test_without_repulsion_members_are_independent(modules, batch, beta_in):
    plain = step_of(Independent(), modules, batch).direction
    method = Repulsive(TERM, gamma=0.0, beta_in=beta_in)
    still = step_of(method, modules, replace(batch, outliers=None))
    scale = 1 if beta_in is None else beta_in / 3  # a mean over members against a sum
    torch.testing.assert_close(still.direction, {name: scale * each for name, each in plain.items()})
    assert set(still.info) == {"loss"}


@pytest.mark.parametrize("kernel", ["cosine", "linear", "rbf"])
def test_a_permutation_of_members_permutes_directions(modules, batch, execution, kernel):
    method, order = Repulsive(HECKA(kernel=kernel), gamma=0.5), [2, 0, 1]
    direction = step_of(method, modules, batch, execution).direction
    permuted = step_of(method, [modules[index] for index in order], batch, execution).direction
    torch.testing.assert_close(permuted, {name: each[order] for name, each in direction.items()})


@pytest.mark.parametrize("gamma", [0.5, "auto"])
@pytest.mark.parametrize("kernel", ["cosine", "linear", "rbf"])
def test_vmapped_and_looped_members_move_alike(modules, batch, gamma, kernel):
    steps = [step_of(Repulsive(HECKA(kernel=kernel), gamma=gamma), modules, batch, how) for how in ("vmap", "loop")]
    for part in ("direction", "info", "state"):
        torch.testing.assert_close(*(getattr(step, part) for step in steps))


@pytest.mark.parametrize("gamma", [0.5, "auto"])
def test_one_member_has_nobody_to_repel(modules, batch, gamma):
    batch = replace(batch, outliers=None)
    repulsive, plain = (step_of(method, modules[:1], batch) for method in (Repulsive(gamma=gamma), Independent()))
    torch.testing.assert_close(repulsive.direction, plain.direction)


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
@pytest.mark.parametrize("name", ["gamma", "gamma_ood", "beta", "beta_in", "warmup"])
def test_weights_that_attract_are_refused(name, value):
    with pytest.raises(InputError, match=f"Repulsive: expected {name} >= 0, got {value}"):
        Repulsive(**{name: value})


def test_an_unknown_gamma_is_refused():
    with pytest.raises(InputError, match="a number or 'auto' for gamma, got 'automatic'"):
        Repulsive(gamma="automatic")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"term": 0.5}, "term to be a diversity term .* got 0.5; its weight goes to gamma="),
        ({"term": HECKA}, "expected term to be .* got <class"),
        ({"outlier_term": "cosine"}, "outlier_term .* got 'cosine'"),
    ],
)
def test_what_is_no_term_is_refused(settings, message):
    with pytest.raises(InputError, match=message):
        Repulsive(**settings)


def hidden_after_norms(modules, batch, statistics_from):
    """Inliers' and outliers' hidden features of networks whose second layer is a BatchNorm."""
    if statistics_from == "all":
        both = [module[:2](torch.cat([batch.inputs, batch.outliers])) for module in modules]
        return [each[:10] for each in both], [each[10:] for each in both]
    inliers = [module[:2](batch.inputs) for module in modules]
    outliers = [module.eval()[:2](batch.outliers) for module in modules]
    return inliers, outliers


@pytest.mark.parametrize("statistics_from", ["all", "inliers"])
def test_norms_take_their_statistics_from_all_or_from_inliers_alone(batch, execution, statistics_from):
    modules = [
        torch.nn.Sequential(torch.nn.Linear(2, 6), torch.nn.BatchNorm1d(6), torch.nn.Linear(6, 3)).double()
        for _ in range(3)
    ]
    ensemble = Ensemble.from_modules(modules, taps=TAPS, execution=execution)
    method = Repulsive(TERM, gamma=0.5, statistics_from=statistics_from)
    step = method(ensemble, ensemble.params(), batch, method.start(ensemble), torch.Generator())
    hidden = hidden_after_norms(modules, batch, statistics_from)
    loss, _ = slow_loss(modules, batch, beta_in=3, gamma=0.5, gamma_ood=0.5, beta=1, hidden=hidden)
    torch.testing.assert_close(step.direction, slow_direction(modules, loss))
    for index, module in enumerate(modules):
        own = {name: each[index] for name, each in ensemble.net.named_buffers()}
        torch.testing.assert_close(own, dict(module.named_buffers()))
    assert ensemble.training
    assert ensemble.net[1].training


def test_statistics_of_inliers_need_a_norm_that_gathers_them():
    def net():
        return torch.nn.Sequential(torch.nn.Linear(2, 6), torch.nn.BatchNorm1d(6, track_running_stats=False))

    ensemble = Ensemble(net, 2)
    with pytest.raises(InputError, match=r"running statistics, got 'net\.1' without; use statistics_from='all'"):
        Repulsive(statistics_from="inliers").start(ensemble)
    with pytest.raises(InputError, match="'all' or 'inliers', got 'outliers'"):
        Repulsive(statistics_from="outliers")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # the compiler's own
@pytest.mark.parametrize("batch", ["classes"], indirect=True)
@pytest.mark.parametrize("statistics_from", ["all", "inliers"])
def test_a_step_with_norms_is_one_compiled_graph(batch, execution, statistics_from):
    def make():
        torch.manual_seed(0)
        modules = [
            torch.nn.Sequential(torch.nn.Linear(2, 6), torch.nn.BatchNorm1d(6), torch.nn.Linear(6, 3)).double()
            for _ in range(3)
        ]
        return Ensemble.from_modules(modules, taps=TAPS, execution=execution)

    method = Repulsive(TERM, statistics_from=statistics_from)
    compiled = torch.compile(method.__call__, fullgraph=True, backend="aot_eager")
    plain, fast = make(), make()
    for step_of_one, members in ((method, plain), (compiled, fast)):
        with torch._dynamo.config.patch(trace_autograd_ops=True):
            step = step_of_one(members, members.params(), batch, method.start(members), torch.Generator())
        members.pull_back(members.params(), step.direction)
    torch.testing.assert_close([p.grad for p in fast.parameters()], [p.grad for p in plain.parameters()])
    torch.testing.assert_close(dict(fast.net.named_buffers()), dict(plain.net.named_buffers()))
    assert fast.net[1].training


def test_outliers_must_look_like_inliers(modules, batch, execution):
    batch = replace(batch, outliers=torch.randn(7, 3, dtype=torch.float64))
    with pytest.raises(InputError, match=r"like one inlier, \(2,\), got outliers \(7, 3\) with inliers \(10, 2\)"):
        step_of(Repulsive(TERM), modules, batch, execution)
