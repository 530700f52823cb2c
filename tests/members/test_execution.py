"""Vmapped or looped, an ensemble is M separate modules run one by one, to the rounding of float64."""

import re

import pytest
import torch
from torch import nn

from hecka.diversity.terms import HECKA
from hecka.errors import InputError
from hecka.members.ensemble import Ensemble
from hecka.members.execution import Execution

MEMBERS = 3


class Scale(nn.Module):
    """Parameters without any layer, one of them frozen."""

    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.randn(4))
        self.shift = nn.Parameter(torch.randn(()), requires_grad=False)

    def forward(self, x):
        return x * self.gain + self.shift


class Tied(nn.Module):
    """One sub-module under two names, and a parameter and a buffer that serve two layers."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.again = self.inner
        self.encode, self.decode = nn.Linear(4, 4), nn.Linear(4, 4)
        self.decode.weight = self.encode.weight
        offset = torch.randn(4)
        for layer in (self.encode, self.decode):
            layer.register_buffer("offset", offset)

    def forward(self, x):
        x = self.again(self.inner(x).tanh()) + self.encode.offset
        return self.decode(self.encode(x).tanh()) * self.decode.offset


class RunningMean(nn.Module):
    """Assigns a new tensor to its buffer instead of writing into the old one."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x):
        y = self.layer(x)
        if self.training:
            self.mean = 0.9 * self.mean + 0.1 * y.mean(0).detach()
        return y - self.mean


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(4, 5, batch_first=True), nn.Linear(5, 2)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


class SignOf(nn.Module):
    """Takes a branch, or a number, that only the host can know."""

    def __init__(self, how):
        super().__init__()
        self.layer, self.how = nn.Linear(4, 2), how

    def forward(self, x):
        y = self.layer(x)
        if self.how == "branch":
            return y if y.sum() > 0 else -y
        return y * y.sum().item()


class Pair(nn.Linear):
    def __init__(self):
        super().__init__(4, 2)

    def forward(self, x):
        return super().forward(x), x


def mlp():
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))


def conv(momentum=0.1):
    norm = nn.BatchNorm2d(4, momentum=momentum)
    return nn.Sequential(nn.Conv2d(2, 4, 3), norm, nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16, 3))


def transformer():
    return nn.Sequential(nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), nn.Linear(8, 3))


# Factory, shape of a batch, taps.
NETS = {
    "mlp": (mlp, (6, 4), ["*"]),
    "conv": (conv, (6, 2, 6, 6), ["0", "1", "5"]),
    "transformer": (transformer, (6, 5, 8), ["0", "0.linear1", "1"]),
    "scale": (Scale, (6, 4), []),
    "tied": (Tied, (6, 4), ["encode", "decode"]),
    "running_mean": (RunningMean, (6, 4), ["layer"]),
    "no_class_axis": (lambda: nn.Sequential(nn.Linear(4, 1), nn.Flatten(0)), (6, 4), ["0"]),
    "image_out": (lambda: nn.ConvTranspose2d(2, 3, 2), (6, 2, 3, 3), []),
}
HOST_BOUND = {
    "cumulative_norm": (lambda: conv(momentum=None), (6, 2, 6, 6), ["1"]),
    "recurrent": (Recurrent, (6, 7, 4), ["head"]),
}


@pytest.fixture(autouse=True)
def _one_seed():
    torch.manual_seed(0)


def run_alone(module, inputs, taps):
    """Logits and features of one module, by hooks of its own."""
    features = {}
    handles = [
        module.get_submodule(tap).register_forward_hook(lambda _m, _i, out, tap=tap: features.update({tap: out}))
        for tap in taps
    ]
    logits = module(inputs)
    for handle in handles:
        handle.remove()
    return logits, features


def objective(logits, features):
    """A scalar with another slope for every logit and every recorded feature."""
    return logits.sin().sum() + sum(each.square().sum() for tap in features for each in tap)


def check_equals_separate_modules(net, execution, training):
    make, shape, taps = net
    modules = [make().double() for _ in range(MEMBERS)]
    for module in modules:
        module(torch.randn(shape, dtype=torch.float64))  # running statistics other than 0 and 1
        module.train(training)
    ensemble = Ensemble.from_modules(modules, taps=taps, execution=execution).train(training)
    inputs = torch.randn(shape, dtype=torch.float64)

    logits, features = ensemble(inputs)
    objective(logits, features.values()).backward()

    for index, module in enumerate(modules):
        own_logits, own_features = run_alone(module, inputs, ensemble.taps)
        objective(own_logits, ([each] for each in own_features.values())).backward()
        torch.testing.assert_close(logits[index], own_logits)
        torch.testing.assert_close({tap: each[index] for tap, each in features.items()}, own_features)
        gradients = {name: p.grad for name, p in module.named_parameters() if p.requires_grad}
        torch.testing.assert_close({name: p.grad[index] for name, p in ensemble.params().items()}, gradients)
        buffers = {name: each[index] for name, each in ensemble.net.named_buffers()}
        torch.testing.assert_close(buffers, dict(module.named_buffers()))


@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
@pytest.mark.parametrize("execution", ["vmap", "loop"])
@pytest.mark.parametrize("name", NETS)
def test_members_equal_separate_modules(name, execution, training):
    check_equals_separate_modules(NETS[name], execution, training)


@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
@pytest.mark.parametrize("name", HOST_BOUND)
def test_auto_runs_what_vmap_cannot(name, training):
    check_equals_separate_modules(HOST_BOUND[name], "auto", training)


@pytest.mark.parametrize(
    ("make", "on_cpu", "on_gpu"),
    [(mlp, False, False), (conv, True, False), (Recurrent, True, True), (lambda: conv(momentum=None), True, True)],
    ids=["mlp", "conv", "recurrent", "cumulative_norm"],
)
def test_auto_loops_where_that_is_faster_or_the_only_way(make, on_cpu, on_gpu):
    execution = Execution(make(), (), "auto")
    assert execution.loops(torch.device("cpu")) == on_cpu
    assert execution.loops(torch.device("cuda")) == on_gpu


@pytest.mark.parametrize("execution", ["vmap", "loop"])
def test_features_keep_the_form_in_which_they_arise(execution):
    features = Ensemble(mlp, MEMBERS, taps=["0"], execution=execution)(torch.randn(6, 4)).features["0"]
    if execution == "vmap":
        assert features.shape == (MEMBERS, 6, 8)
    else:  # a stack would copy them
        assert [tuple(each.shape) for each in features] == [(6, 8)] * MEMBERS


@pytest.mark.parametrize("execution", ["vmap", "loop"])
def test_dropout_draws_anew_for_every_member(execution):
    ensemble = Ensemble(lambda: nn.Sequential(nn.Linear(4, 50), nn.Dropout(0.5)), 2, execution=execution)
    one, other = ensemble(torch.randn(20, 4)).logits == 0
    # Independent coins agree in 500 of 1000 throws, give or take 16.
    assert abs((one == other).sum() - 500) < 80
    assert not (ensemble.eval()(torch.randn(20, 4)).logits == 0).any()


@pytest.mark.parametrize("execution", ["vmap", "loop"])
@pytest.mark.parametrize("channels", [1, 3])
def test_channels_last_changes_memory_alone(channels, execution):
    strides = []

    class Conv(nn.Conv2d):
        def forward(self, x):
            strides.append(x.stride())
            return super().forward(x)

    modules = [Conv(channels, 4, 3) for _ in range(2)]
    inputs = torch.randn(5, channels, 6, 7)
    usual, fast = (
        Ensemble.from_modules(modules, execution=execution, channels_last=flag)(inputs) for flag in (False, True)
    )
    torch.testing.assert_close(fast.logits, usual.logits)
    assert strides[0] == inputs.stride()
    looped = (channels * 42, 1, channels * 7, channels)
    assert strides[-1] == (looped if execution == "loop" else inputs.stride())


@pytest.mark.parametrize(
    ("channels", "kernel", "stride", "safe"), [(15, 1, 2, False), (16, 1, 2, True), (2, 3, 2, True)]
)
def test_channels_last_is_left_out_where_the_way_back_would_end_the_process(channels, kernel, stride, safe):
    """Tried without this: 40 ways back from (6, channels, 64, 64) crash with 2, 8 and 15 channels, and not with 16."""
    strides = []

    class Conv(nn.Conv2d):
        def forward(self, x):
            strides.append(x.stride(1))
            return super().forward(x)

    modules = [Conv(channels, 4, kernel, stride) for _ in range(2)]
    Ensemble.from_modules(modules, execution="loop", channels_last=True)(torch.randn(6, channels, 8, 8))
    assert (strides[0] == 1) is safe


@pytest.mark.parametrize("execution", ["vmap", "loop"])
@pytest.mark.parametrize("name", ["mlp", "conv", "transformer"])
def test_half_precision_agrees_with_float32(name, execution):
    make, shape, taps = NETS[name]
    ensemble = Ensemble(make, MEMBERS, taps=taps, execution=execution)
    inputs = torch.randn(shape)
    exact, exact_features = ensemble(inputs)
    with torch.autocast("cpu", torch.bfloat16):
        logits, features = ensemble(inputs)
        energy = HECKA()(features)
    # bfloat16 keeps 8 bits; a few layers make a few of its steps of the largest number.
    assert (logits - exact).abs().max() < 0.03 * exact.abs().max()
    assert (logits - exact).abs().max() > 0
    assert energy.dtype == torch.float32
    torch.testing.assert_close(energy, HECKA()(exact_features), rtol=0.05, atol=0)
    gradients = torch.autograd.grad(energy, list(ensemble.params().values()), materialize_grads=True)
    assert all(gradient.isfinite().all() for gradient in gradients)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "execution"), [("mlp", "vmap"), ("conv", "loop"), ("transformer", "vmap")])
def test_one_compiled_graph_gives_the_same(name, execution):
    make, shape, taps = NETS[name]
    ensemble, inputs = Ensemble(make, 2, taps=taps, execution=execution), torch.randn(shape)

    def step():
        logits, features = ensemble(inputs)
        return objective(logits, features.values())

    # aot_eager traces forward and backward into graphs, as every backend must, and spares the C++ compiler's minutes.
    compiled = torch.compile(step, fullgraph=True, backend="aot_eager")
    params = list(ensemble.params().values())
    results = [torch.autograd.grad(run(), params) for run in (step, compiled, compiled)]
    torch.testing.assert_close(results[1], results[0])
    torch.testing.assert_close(results[2], results[0])


@pytest.mark.parametrize("how", ["branch", "item"])
def test_a_forward_that_vmap_cannot_run_is_told_how_to_go_on(how):
    inputs = torch.randn(6, 4)
    with pytest.raises(InputError, match=r"SignOf's forward cannot run vmapped.*use execution='loop'"):
        Ensemble(lambda: SignOf(how), 2)(inputs)
    check_equals_separate_modules((lambda: SignOf(how), (6, 4), []), "loop", True)


@pytest.mark.parametrize("execution", ["vmap", "loop"])
def test_a_network_must_return_one_tensor(execution):
    with pytest.raises(InputError, match="one tensor, got tuple"):
        Ensemble(Pair, 2, execution=execution)(torch.randn(6, 4))


def test_unknown_executions_are_refused():
    with pytest.raises(InputError, match="expected one of auto, vmap, loop, got 'fast'"):
        Ensemble(mlp, 2, execution="fast")


@pytest.mark.parametrize("execution", ["vmap", "loop"])
@pytest.mark.parametrize("wrong", [torch.randn(6, 5), torch.randn(6, 4).double()], ids=["width", "dtype"])
def test_inputs_that_no_member_takes_fail_with_the_networks_own_error(wrong, execution):
    ensemble = Ensemble(mlp, 2, execution=execution)
    with pytest.raises(RuntimeError) as alone:
        ensemble.member(0)(wrong)
    with pytest.raises(RuntimeError, match=re.escape(str(alone.value))) as caught:
        ensemble(wrong)
    assert not isinstance(caught.value, InputError)  # nothing about vmap, which is not to blame


def test_looking_for_the_cause_of_an_error_leaves_statistics_alone():
    def make():
        return nn.Sequential(nn.BatchNorm1d(4), SignOf("item"))

    ensemble = Ensemble(make, 2, execution="vmap")
    with pytest.raises(InputError, match="cannot run vmapped"):
        ensemble(torch.randn(6, 4) + 3)
    assert (ensemble.net[0].running_mean[0] == ensemble.net[0].running_mean[1]).all()


class Shifting(nn.Linear):
    """Changes the inputs that it was given."""

    def forward(self, x):
        x -= 1
        return super().forward(x)


@pytest.mark.parametrize("run", [lambda ensemble, x: ensemble(x), lambda ensemble, x: ensemble.predict(x)])
def test_a_loop_refuses_a_network_that_changes_its_inputs(run):
    ensemble = Ensemble(lambda: Shifting(4, 2), 2, execution="loop")
    with pytest.raises(InputError, match="Shifting's forward changes its inputs in place"):
        run(ensemble, torch.randn(6, 4))
    with torch.inference_mode():  # where nobody counts
        ensemble(torch.randn(6, 4))
