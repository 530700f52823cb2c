import pytest
import torch
from torch import nn

from hecka.errors import InputError
from hecka.members.ensemble import Ensemble
from hecka.members.taps import resolve


class Net(nn.Module):
    """Nested names, one layer that runs twice, one that never runs, and one whose output is no tensor."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv1d(1, 2, 1)
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(2, 2), nn.LayerNorm(2)) for _ in range(2))
        self.again = nn.Linear(2, 2)
        self.attention = nn.MultiheadAttention(2, 1, batch_first=True)
        self.lstm = nn.LSTM(2, 2, batch_first=True)
        self.unused = nn.Linear(2, 2)

    def forward(self, x):
        x = self.conv1(x).mT
        for layer in self.layers:
            x = layer(x)
        x = self.again(self.again(x))
        return self.lstm(self.attention(x, x, x)[0])[0]


@pytest.fixture(params=["vmap", "loop"])
def execution(request):
    return request.param


@pytest.mark.parametrize(
    ("patterns", "names"),
    [
        (["again", "conv1"], ["again", "conv1"]),
        (["layers.*"], ["layers.0", "layers.1"]),
        (["layers.*.0"], ["layers.0.0", "layers.1.0"]),
        (["**.1"], ["layers.1", "layers.0.1", "layers.1.1"]),
        (["layers.**"], ["layers.0", "layers.0.0", "layers.0.1", "layers.1", "layers.1.0", "layers.1.1"]),
        (["*1"], ["conv1"]),
        (["layers.1.0", "layers.*.0"], ["layers.1.0", "layers.0.0"]),
        ([], []),
        # Linear maps and convolutions; no norms, and nothing recurrent or inside attention.
        (None, ["conv1", "layers.0.0", "layers.1.0", "again", "unused"]),
    ],
    ids=str,
)
def test_patterns_stand_for_modules(patterns, names):
    assert sorted(resolve(Net(), patterns)) == sorted(names)


def test_taps_keep_the_order_of_the_patterns_then_of_the_modules():
    assert resolve(Net(), ["again", "layers.*", "conv1"]) == ("again", "layers.0", "layers.1", "conv1")


def test_dots_are_no_wildcards():
    with pytest.raises(InputError, match="matches no module"):
        resolve(nn.ModuleDict({"a1b": nn.Linear(1, 1)}), ["a.b"])


def test_a_tap_without_a_match_lists_what_exists():
    net = nn.Sequential()
    net.conv1, net.head = nn.Linear(2, 2), nn.Linear(2, 2)
    with pytest.raises(InputError, match=r"'covn1' matches no module of Sequential; did you mean 'conv1'.*'head'"):
        Ensemble(lambda: net, 1, taps=["head", "covn1"])


def test_one_string_is_not_a_list_of_letters():
    with pytest.raises(InputError, match=r"got the string 'conv1'; use \['conv1'\]"):
        resolve(Net(), "conv1")


def test_a_module_that_runs_twice_is_recorded_twice(execution):
    net = nn.Sequential(first := nn.Linear(2, 2), nn.Tanh(), first, last := nn.Linear(2, 1))
    ensemble = Ensemble.from_modules([net], taps=["3", "0"], execution=execution)
    inputs = torch.randn(5, 2)
    features = ensemble(inputs).features
    once = first(inputs)
    twice = first(once.tanh())
    assert list(features) == ["3", "0", "0#2"]
    for tap, expected in zip(features, (last(twice), once, twice), strict=True):
        torch.testing.assert_close(features[tap][0], expected)


def test_a_tapped_layer_must_run(execution):
    net = nn.Sequential(nn.Linear(2, 2))
    net[0].idle = nn.Linear(2, 2)
    with pytest.raises(InputError, match=r"taps: '0.idle' did not run in this forward pass"):
        Ensemble(lambda: net, 1, taps=["0", "0.idle"], execution=execution)(torch.randn(4, 2))


@pytest.mark.parametrize("tap", ["attention", "lstm"])
def test_a_tapped_layer_must_put_out_a_tensor(tap):
    with pytest.raises(InputError, match=f"module '{tap}' to put out a tensor, got tuple"):
        Ensemble(Net, 2, taps=[tap])(torch.randn(4, 1, 3))


def test_a_pass_that_failed_leaves_nothing_behind(execution):
    ensemble = Ensemble(lambda: nn.Sequential(nn.Linear(2, 3), nn.Unflatten(1, (3, 1))), 2, execution=execution)
    ensemble.net[1].unflattened_size = (2, 2)
    with pytest.raises((InputError, RuntimeError), match="2, 2"):
        ensemble(torch.randn(4, 2))
    ensemble.net[1].unflattened_size = (3, 1)
    assert list(ensemble.member(0)(torch.randn(4, 2)).shape) == [4, 3, 1]  # a deep copy of everything
    assert list(ensemble(torch.randn(4, 2)).features) == ["0"]
