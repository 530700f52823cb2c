import copy
import pickle

import pytest
import torch
from torch import nn

from hecka.errors import InputError
from hecka.members.ensemble import Ensemble


def net():
    return nn.Sequential(nn.Linear(2, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 3))


@pytest.fixture
def inputs():
    return torch.randn(11, 2, generator=torch.Generator().manual_seed(1))


@pytest.fixture(params=["vmap", "loop"])
def ensemble(request, inputs):
    ensemble = Ensemble(net, 3, taps=["0"], execution=request.param)
    ensemble(2 * inputs + 1)  # statistics that differ between members
    return ensemble


def copy_by_pickle(module):
    return pickle.loads(pickle.dumps(module))


def copy_by_state(ensemble):
    other = Ensemble(net, 3, taps=["0"], seed=9)
    other.load_state_dict(ensemble.state_dict())
    return other


def test_one_seed_makes_the_same_members_and_leaves_the_callers_generator_alone(inputs):
    torch.manual_seed(5)
    before = torch.get_rng_state()
    one, same, other = (Ensemble(net, 2, seed=seed).params()["0.weight"] for seed in (7, 7, 8))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(one, same)
    assert not torch.isclose(one, other).any()


@pytest.mark.parametrize("index", [0, 2, -1])
def test_a_member_is_an_ordinary_module_of_its_own(ensemble, inputs, index):
    member = ensemble.eval().member(index)
    assert type(member) is nn.Sequential
    assert not any(module._forward_hooks for module in member.modules())
    assert [type(parameter) for parameter in member.parameters()] == [nn.Parameter] * 6
    expected = ensemble(inputs).logits[index].detach()
    torch.testing.assert_close(member(inputs), expected)

    member(inputs).sum().backward()
    assert all(parameter.grad is None for parameter in ensemble.parameters())
    with torch.no_grad():
        for tensor in (*member.parameters(), *member.buffers()):
            tensor.zero_()
    torch.testing.assert_close(ensemble(inputs).logits[index], expected)


def test_a_member_keeps_ties_and_what_is_frozen():
    def tied():
        net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4).requires_grad_(False))
        net[1].weight = net[0].weight
        return net

    member = Ensemble(tied, 2).member(1)
    assert member[0].weight is member[1].weight
    assert [parameter.requires_grad for parameter in member.parameters()] == [True, True, True, False, False]


@pytest.mark.parametrize("index", [3, -4])
def test_a_member_must_exist(ensemble, index):
    with pytest.raises(InputError, match=f"below 3, got {index}"):
        ensemble.member(index)


def test_modules_that_become_members_stay_as_they_are(inputs):
    modules = [net() for _ in range(3)]
    before = copy.deepcopy([module.state_dict() for module in modules])
    ensemble = Ensemble.from_modules(modules, taps=["0"])
    logits = ensemble(inputs).logits
    with torch.no_grad():
        for tensor in ensemble.parameters():
            tensor.zero_()
    torch.testing.assert_close([module.state_dict() for module in modules], before, rtol=0, atol=0)
    assert not any(part._forward_hooks for module in modules for part in module.modules())
    torch.testing.assert_close(logits, torch.stack([module(inputs) for module in modules]))


@pytest.mark.parametrize("duplicate", [copy.deepcopy, copy_by_pickle, copy_by_state])
def test_a_copy_answers_and_records_alike_and_on_its_own(ensemble, inputs, duplicate):
    other = duplicate(ensemble.eval()).eval()
    torch.testing.assert_close(other(inputs).logits, ensemble(inputs).logits)
    before = ensemble(inputs).logits
    with torch.no_grad():
        other.net[0].weight.zero_()
        other.net[0].bias.fill_(5)
    assert all((each == 5).all() for each in other(inputs).features["0"])
    assert torch.equal(ensemble(inputs).logits, before)


def test_a_state_must_fit(ensemble):
    state = ensemble.state_dict()
    assert state["net.0.weight"].shape == (3, 8, 2)
    assert state["net.1.running_mean"].shape == (3, 8)
    del state["net.0.bias"]
    with pytest.raises(RuntimeError, match=r"Missing key.*net\.0\.bias"):
        ensemble.load_state_dict(state)


def test_it_moves_between_dtypes_like_any_module(ensemble, inputs):
    ensemble.eval()
    exact = ensemble(inputs).logits
    double = ensemble.to(torch.float64)(inputs.double())
    assert {double.logits.dtype, double.features["0"][0].dtype} == {torch.float64}
    torch.testing.assert_close(double.logits.float(), exact)


@pytest.mark.parametrize("batch_size", [1, 4, 11, 1024])
def test_predictions_do_not_depend_on_the_batch(ensemble, inputs, batch_size):
    prediction = ensemble.predict(inputs, batch_size)
    torch.testing.assert_close(prediction.logits, ensemble.eval()(inputs).logits.detach())
    assert not prediction.logits.requires_grad


def test_predicting_changes_nothing(ensemble, inputs):
    ensemble.train()
    ensemble.net[1].eval()  # a norm whose statistics are held
    state = copy.deepcopy(ensemble.state_dict())
    modes = [module.training for module in ensemble.modules()]
    ensemble.predict(inputs)
    torch.testing.assert_close(ensemble.state_dict(), state, rtol=0, atol=0)
    assert [module.training for module in ensemble.modules()] == modes
    with pytest.raises((InputError, RuntimeError)):
        ensemble.predict(torch.randn(4, 5))
    assert [module.training for module in ensemble.modules()] == modes


def test_attention_can_be_predicted_with():
    """Torch's fused attention, taken only then, has no batching rule and passes inner layers by."""
    modules = [nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval() for _ in range(2)]
    inputs = torch.randn(4, 5, 8)
    with torch.no_grad():
        expected = torch.stack([module(inputs) for module in modules])
    for execution in ("vmap", "loop"):
        ensemble = Ensemble.from_modules(modules, taps=["linear1"], execution=execution)
        torch.testing.assert_close(ensemble.predict(inputs).logits, expected)
    assert torch.backends.mha.get_fastpath_enabled()


def test_a_direction_is_added_to_the_gradients(ensemble):
    params = ensemble.params()
    for value in (1.0, 2.0):
        ensemble.pull_back(params, {name: torch.full_like(tensor, value) for name, tensor in params.items()})
    assert all((parameter.grad == 3).all() for parameter in ensemble.parameters())


def test_one_module_for_all_members_is_refused():
    shared = net()
    with pytest.raises(InputError, match=r"members 0 and 1 came out equal.*'0.weight', .*make_net must draw"):
        Ensemble(lambda: shared, 3)


def test_equal_members_are_found_wherever_they_stand():
    class Vector(nn.Module):
        def __init__(self, value):
            super().__init__()
            self.odd_vector = nn.Parameter(torch.full((2,), value))

    with pytest.raises(InputError, match=r"members 1 and 3 came out equal in every tensor .*'odd_vector'"):
        Ensemble.from_modules([Vector(value) for value in (0.0, 1.0, 2.0, 1.0)])


@pytest.mark.parametrize(
    ("modules", "message"),
    [
        ([], "at least 1 member, got 0"),
        ([nn.Flatten()], "Flatten has no trainable parameters"),
        ([nn.Linear(2, 2).requires_grad_(False)], "Linear has no trainable parameters"),
        ([nn.Linear(2, 2), nn.Linear(2, 3)], r"'bias' is \(2,\) in member 0 and \(3,\) in member 1"),
        ([nn.Linear(2, 2), nn.Linear(2, 2, bias=False)], r"'bias' is \(2,\) in member 0 and absent in member 1"),
        ([nn.Linear(2, 2, bias=False), nn.Linear(2, 2)], r"'bias' is absent in member 0 and \(2,\) in member 1"),
    ],
)
def test_modules_that_make_no_ensemble_are_refused(modules, message):
    with pytest.raises(InputError, match=message):
        Ensemble.from_modules(modules)


def test_its_repr_says_how_many_members_it_has():
    text = repr(Ensemble(lambda: nn.Sequential(nn.Linear(2, 2)), 4, execution="loop"))
    assert text.startswith("Ensemble(\n  members=4, taps=['0'], execution='loop'\n  (net): Sequential(")


@pytest.mark.parametrize(
    ("make_net", "message"),
    [
        (nn.Linear(2, 2), "fresh network at every call, got a Linear; pass lambda"),
        ("mlp", "got a str"),
        (lambda: None, "return an nn.Module, got a NoneType"),
    ],
)
def test_what_makes_no_networks_is_refused(make_net, message):
    with pytest.raises(InputError, match=message):
        Ensemble(make_net, 2)


@pytest.mark.parametrize(
    ("inputs", "batch_size", "message"),
    [([[0.0, 0.0]], 4, "tensor of inputs.*got a list"), (torch.zeros(3, 2), 0, "batch_size of at least 1, got 0")],
)
def test_what_cannot_be_predicted_on_is_refused(inputs, batch_size, message):
    with pytest.raises(InputError, match=message):
        Ensemble(lambda: nn.Linear(2, 2), 2).predict(inputs, batch_size)
