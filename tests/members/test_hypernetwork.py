"""A hypernetwork is Members like an ensemble; what it draws are fresh networks, and it learns."""

import copy
import pickle
from functools import partial

import pytest
import torch
from torch import nn

from hecka.data.toy import four_classes
from hecka.errors import InputError
from hecka.inference.independent import Independent
from hecka.inference.repulsive import Repulsive
from hecka.members.ensemble import Ensemble
from hecka.members.generators import Generator
from hecka.members.hypernetwork import Hypernetwork
from hecka.networks.lenet import LeNet5
from hecka.networks.mlp import MLP
from hecka.networks.resnet32 import PlainBlock
from hecka.networks.spectral import spectral_bound
from hecka.outliers.border import Border
from hecka.scores.accuracy import accuracy
from hecka.training.fit import fit
from hecka.types import Members


class Mixed(nn.Module):
    """Parameters of its own, some shared, some tied, one frozen, and a constant buffer."""

    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.randn(4))
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
        self.second.weight = self.first.weight
        self.norm = nn.GroupNorm(2, 4)
        self.frozen = nn.Parameter(torch.randn(4), requires_grad=False)
        self.register_buffer("ramp", torch.arange(4.0))

    def forward(self, x):
        return self.norm(self.second(self.first(x * self.gain).tanh()) + self.frozen + self.ramp)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(4, 5, batch_first=True), nn.Linear(5, 2)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


def residual():
    return nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), PlainBlock(4, 4, 1), PlainBlock(4, 8, 2), nn.Flatten(), nn.Linear(128, 5)
    )


def transformer():
    return nn.Sequential(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), nn.Flatten(), nn.Linear(32, 3))


mlp = partial(MLP, 2, 6, 5, 3)
NETS = {
    "MLP": (mlp, (2,), 3),
    "LeNet5": (LeNet5, (1, 28, 28), 10),
    "residual": (residual, (3, 8, 8), 5),
    "mixed": (Mixed, (4,), 4),
    "recurrent": (Recurrent, (6, 4), 2),
    "transformer": (transformer, (4, 8), 3),
}


@pytest.fixture(params=NETS)
def case(request):
    make, shape, outputs = NETS[request.param]
    hypernetwork = Hypernetwork(make, latent=8, code=6, members=3, widths=(8, 8), code_widths=(8,))
    return hypernetwork, torch.randn(4, *shape, generator=seeded(1)), outputs, make


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def trainable(module):
    return {name: parameter for name, parameter in module.named_parameters() if parameter.requires_grad}


def equal(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_it_makes_members_for_any_network(case):
    hypernetwork, inputs, outputs, make = case
    assert isinstance(hypernetwork, Members)
    like = Ensemble(make, 3)
    params = hypernetwork.params(seeded(0))
    assert {name: p.shape for name, p in params.items()} == {name: p.shape for name, p in like.params().items()}
    logits, features = hypernetwork.run(params, inputs)
    assert logits.shape == (3, 4, outputs)
    assert tuple(features) == hypernetwork.taps == like.taps
    torch.testing.assert_close(hypernetwork.predict(inputs, 3).logits, hypernetwork.predict(inputs).logits)


def test_a_draw_answers_like_the_weights_it_came_from(case):
    hypernetwork, inputs, _, _ = case
    hypernetwork.eval()
    latents = torch.randn(4, 8, generator=seeded(7))
    expected = hypernetwork.run(hypernetwork.generate(latents), inputs)
    ensemble = hypernetwork.draw(4, seed=7)
    torch.testing.assert_close(ensemble.predict(inputs).logits, expected.logits.detach())
    assert ensemble.taps == hypernetwork.taps
    assert sum(len(module._forward_hooks) for module in ensemble.net.modules()) == len(ensemble.taps)
    with torch.no_grad():
        for parameter in ensemble.parameters():
            parameter.zero_()
    torch.testing.assert_close(hypernetwork.run(hypernetwork.generate(latents), inputs).logits, expected.logits)


def test_both_executions_agree(case):
    hypernetwork, inputs, _, make = case
    params = hypernetwork.params(seeded(0))
    answers = []
    for execution in ("vmap", "loop"):
        if make is Recurrent and execution == "vmap":  # torch cannot
            continue
        other = Hypernetwork(make, latent=8, code=6, members=3, widths=(8, 8), code_widths=(8,), execution=execution)
        answers.append(other.eval().run(params, inputs).logits)
    torch.testing.assert_close(answers[0], answers[-1])


def test_a_direction_reaches_every_trained_weight(case):
    hypernetwork, inputs, _, _ = case
    params = hypernetwork.params(seeded(0))
    loss = hypernetwork.run(params, inputs).logits.square().sum()
    direction = dict(zip(params, torch.autograd.grad(loss, list(params.values())), strict=True))
    hypernetwork.pull_back(params, direction)
    silent = [name for name, parameter in trainable(hypernetwork).items() if not parameter.grad.any()]
    assert silent == []


def test_the_pulled_back_direction_is_the_gradient_of_the_loss():
    hypernetwork, inputs = Hypernetwork(mlp, members=3).double().eval(), torch.randn(4, 2, dtype=torch.float64)

    def loss():
        return hypernetwork.run(hypernetwork.generate(hypernetwork.latents), inputs).logits.sin().sum()

    params = hypernetwork.params()
    value = hypernetwork.run(params, inputs).logits.sin().sum()
    direction = dict(zip(params, torch.autograd.grad(value, list(params.values())), strict=True))
    hypernetwork.pull_back(params, direction)
    step = 1e-6
    for parameter in trainable(hypernetwork).values():
        slope = (parameter.grad**2).sum().item()
        with torch.no_grad():
            parameter.add_(step * parameter.grad)
            up = loss().item()
            parameter.sub_(2 * step * parameter.grad)
            down = loss().item()
            parameter.add_(step * parameter.grad)
        assert (up - down) / (2 * step) == pytest.approx(slope, rel=1e-3)


def test_one_seed_repeats_and_another_differs():
    hypernetwork, inputs = Hypernetwork(mlp).eval(), torch.randn(4, 2)
    one, same, other = (hypernetwork.params(seeded(seed)) for seed in (1, 1, 2))
    assert equal(one, same)
    assert not any(torch.isclose(one[name], other[name]).any() for name in one)
    assert equal(dict(hypernetwork.draw(3, 4).params()), dict(hypernetwork.draw(3, 4).params()))
    assert torch.equal(hypernetwork.predict(inputs).logits, hypernetwork.predict(inputs).logits)
    assert torch.equal(Hypernetwork(mlp).predict(inputs).logits, hypernetwork.predict(inputs).logits)
    assert not torch.isclose(
        Hypernetwork(mlp, seed=1).predict(inputs).logits, hypernetwork.predict(inputs).logits
    ).any()


def test_without_a_generator_members_are_new_in_training_and_fixed_in_evaluation():
    hypernetwork, inputs = Hypernetwork(mlp), torch.randn(4, 2)
    assert not torch.equal(hypernetwork(inputs).logits, hypernetwork(inputs).logits)
    hypernetwork.eval()
    assert torch.equal(hypernetwork(inputs).logits, hypernetwork.predict(inputs).logits)


@pytest.mark.parametrize("make", [mlp, LeNet5, residual])
def test_fresh_draws_have_the_scale_of_fresh_networks(make):
    fresh = Ensemble(make, 50, seed=3).params()
    for name, written in Hypernetwork(make, members=50).params(seeded(0)).items():
        spread = fresh[name].std().item()
        few = 0.5 if name.endswith("bias") else 0.2  # the scale of four biases is known from few numbers
        assert written.std().item() == pytest.approx(spread, rel=few)
        assert abs(written.mean().item()) < few * spread


def test_fresh_draws_point_in_all_directions():
    """Weights of independent networks have cosines near 0; a last hidden layer of 32 spreads them a little."""
    weights = Hypernetwork(LeNet5, members=50).params(seeded(0))["fc1.linear.weight"].flatten(1)
    cosines = torch.corrcoef(weights.detach())[*torch.triu_indices(50, 50, 1)]
    assert abs(cosines.mean()) < 0.1
    assert cosines.std() < 0.35


def size(module):
    return sum(parameter.numel() for parameter in trainable(module).values())


def test_lenets_generator_is_small():
    assert size(Hypernetwork(LeNet5)) == 1_451_463 < 2_000_000


def test_the_published_generators_can_be_asked_for():
    """Their sizes for LeNet5, 102.7 million with the norms of what they write; counted without memory."""
    dense = (26, 80, 245, 751, 2302)
    with torch.device("meta"):
        coder = Generator(38, 108, 307, 872, 2476, 26 * (6 + 16 + 3))
        filters = [Generator(26, 72, written) for written in (25 + 1, 150 + 1)]
        layers = [Generator(*dense, written) for written in (256 * 120 + 120, 120 * 84 + 84)]
        last = Generator(26, 78, 235, 84 * 10 + 10)
    assert sum(map(size, (coder, *filters, *layers, last))) == pytest.approx(102.7e6, rel=1e-3)


def test_layers_may_have_widths_of_their_own():
    hypernetwork = Hypernetwork(LeNet5, latent=5, code=6, widths={"fc1.linear": (7, 11, 13)}, code_widths=(9,))
    for path, generator in zip(hypernetwork._layers, hypernetwork.generators, strict=True):
        sizes = [part.in_features for part in generator.net if isinstance(part, nn.Linear)]
        assert sizes == ([6, 7, 11, 13] if path == "fc1.linear" else [6, 64, 32])
    assert hypernetwork(torch.randn(2, 1, 28, 28)).logits.shape == (5, 2, 10)
    with pytest.raises(InputError, match=r"widths: 'fc9' is no generated layer; .*'fc1.linear'"):
        Hypernetwork(LeNet5, widths={"fc9": (4,)})
    with pytest.raises(InputError, match="expected widths of at least 1, got 0"):
        Hypernetwork(LeNet5, widths={"fc1.linear": (0,)})


def test_filters_are_written_one_by_one():
    """A filter depends on its own code alone, and equal codes give equal filters with equal biases."""
    generator = Hypernetwork(partial(nn.Conv2d, 2, 4, 3)).eval().generators[0]
    codes = torch.randn(1, 4, 24)
    codes[:, 3] = codes[:, 1]
    changed = codes.clone()
    changed[:, 0] += 1
    (weight, bias), (other_weight, other_bias) = generator(codes), generator(changed)
    torch.testing.assert_close((weight[:, 3], bias[:, 3]), (weight[:, 1], bias[:, 1]))
    assert not torch.isclose(weight[:, 0], other_weight[:, 0]).any()
    torch.testing.assert_close((weight[:, 1:], bias[:, 1:]), (other_weight[:, 1:], other_bias[:, 1:]))


def test_what_starts_constant_is_shared_and_trained():
    hypernetwork = Hypernetwork(Mixed, members=3)
    params = hypernetwork.params(seeded(0))
    assert {name for name in trainable(hypernetwork) if name.startswith("net.")} == {"net.norm.weight", "net.norm.bias"}
    assert (params["norm.weight"] == 1).all()
    hypernetwork.pull_back(params, {name: torch.ones_like(tensor) for name, tensor in params.items()})
    assert torch.equal(hypernetwork.net.norm.weight.grad, torch.full((4,), 3.0))


def border():
    return Border(low=(-8.0, -8.0), high=(8.0, 8.0))


@pytest.mark.parametrize(
    ("method", "outliers"),
    [(Independent(), None), (Repulsive(gamma=0.2), border())],
    ids=["independent", "repulsive"],
)
def test_it_learns_the_four_classes(method, outliers):
    inputs, labels = four_classes(seeded(0), per_class=10)
    hypernetwork = Hypernetwork(partial(MLP, 2, 30, 30, 4), members=10, taps=MLP.taps)
    fit(
        hypernetwork,
        (inputs, labels),
        method=method,
        outliers=outliers,
        steps=200,
        optimizer=partial(torch.optim.AdamW, lr=0.0035, weight_decay=0.0075),
        clip=1.0,
        progress=False,
    )
    answer = hypernetwork.draw(30, seed=1).predict(inputs)
    assert accuracy(answer.logits, labels) > 0.98
    assert (answer.logits.argmax(-1) == labels).float().mean() > 0.95
    if outliers is not None:
        far = hypernetwork.draw(30, seed=1).predict(outliers(inputs, seeded(1))).entropy
        assert far.mean() > 0.6  # of ln 4 = 1.39; 0.1 to 0.3 without outliers
        assert answer.entropy.mean() < 0.3


def test_a_resumed_run_equals_an_uninterrupted_one(tmp_path):
    def train(steps, out=None):
        hypernetwork, data = Hypernetwork(mlp, members=3), (torch.ones(4, 2), torch.arange(4) % 3)
        fit(hypernetwork, data, method=Independent(), steps=steps, out=out, progress=False)
        return hypernetwork.state_dict()

    train(2, tmp_path)
    assert equal(train(4, tmp_path), train(4))


def test_automatic_gamma_is_refused():
    with pytest.raises(InputError, match="in a Hypernetwork all members share their trained weights"):
        Repulsive(gamma="auto").start(Hypernetwork(mlp))
    assert "log_gamma" in Repulsive(gamma="auto").start(Ensemble(mlp, 2))


@pytest.mark.parametrize("duplicate", ["state", "deepcopy", "pickle"])
def test_a_copy_answers_alike(duplicate):
    hypernetwork, inputs = Hypernetwork(mlp), torch.randn(4, 2)
    for _ in range(3):
        hypernetwork.params()  # power iterations move buffers
    if duplicate == "state":
        other = Hypernetwork(mlp, seed=5)
        other.load_state_dict(hypernetwork.state_dict())
    else:
        other = copy.deepcopy(hypernetwork) if duplicate == "deepcopy" else pickle.loads(pickle.dumps(hypernetwork))
    assert torch.equal(other.predict(inputs).logits, hypernetwork.predict(inputs).logits)
    assert equal(dict(other.draw(3).params()), dict(hypernetwork.draw(3).params()))


def test_predicting_and_drawing_change_nothing():
    hypernetwork, random = Hypernetwork(mlp), torch.get_rng_state()
    state = copy.deepcopy(hypernetwork.state_dict())
    hypernetwork.predict(torch.randn(4, 2, generator=seeded(0)))
    hypernetwork.draw(3)
    Hypernetwork(mlp)
    assert equal(hypernetwork.state_dict(), state)
    assert hypernetwork.training
    assert torch.equal(torch.get_rng_state(), random)


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4)),
        lambda: spectral_bound(nn.Sequential(nn.Flatten(), nn.Linear(2, 4))),
    ],
    ids=["BatchNorm", "spectral_bound"],
)
def test_layers_that_gather_statistics_are_refused(make):
    with pytest.raises(InputError, match=r"'1' .* statistics of one member over many steps.*nn.GroupNorm"):
        Hypernetwork(make)


@pytest.mark.parametrize(
    "wrong", [{"members": 0}, {"latent": 0}, {"code": 0}, {"widths": (4, 0)}, {"code_widths": (0,)}]
)
def test_empty_sizes_are_refused(wrong):
    with pytest.raises(InputError, match=f"expected {next(iter(wrong))} of at least 1, got 0"):
        Hypernetwork(mlp, **wrong)
