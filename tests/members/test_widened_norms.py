"""BatchNorm of half-precision maps, vmapped: as in a loop, where torch itself sees to it."""

import pytest
import torch
from torch import nn

from hecka.members.ensemble import Ensemble


def net():
    return nn.Sequential(nn.Linear(5, 4, bias=False), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 3))


def ensemble(execution):
    return Ensemble(net, 3, taps=["0", "1"], execution=execution)


@pytest.mark.parametrize("execution", ["vmap", "loop"])
def test_maps_keep_their_type_and_statistics_theirs(execution):
    members, inputs = ensemble(execution), torch.randn(8, 5, generator=torch.Generator().manual_seed(0))
    exact = members(inputs).features["1"]
    with torch.autocast("cpu", torch.bfloat16):
        maps, normed = members(inputs).features.values()
    assert {each.dtype for each in (*maps, *normed)} == {torch.bfloat16}
    for half, full in zip(normed, exact, strict=True):
        torch.testing.assert_close(half.float(), full, rtol=0, atol=0.05)
    assert members.net[1].running_mean.dtype == torch.float32


class Named(nn.BatchNorm1d):
    """Called by the name of its argument, as some networks do."""

    def __call__(self, x):
        return super().__call__(input=x)


@pytest.mark.parametrize("execution", ["vmap", "loop"])
def test_maps_may_be_passed_by_name(execution):
    inputs = torch.randn(8, 5, generator=torch.Generator().manual_seed(0))
    answers = []
    for norm in (nn.BatchNorm1d, Named):
        members = Ensemble(
            lambda norm=norm: nn.Sequential(nn.Linear(5, 4, bias=False), norm(4)), 3, execution=execution
        )
        with torch.autocast("cpu", torch.bfloat16):
            answers.append(members(inputs).logits)
    torch.testing.assert_close(*answers, rtol=0, atol=0)


def test_statistics_move_as_in_a_loop():
    inputs = torch.randn(8, 5, generator=torch.Generator().manual_seed(0))
    moved = []
    for execution in ("vmap", "loop"):
        members = ensemble(execution)
        with torch.autocast("cpu", torch.bfloat16):
            members(inputs)
        moved.append(members.net[1].running_var)
    torch.testing.assert_close(*moved, rtol=1e-6, atol=0)


@pytest.mark.parametrize("mode", ["train", "eval"])
def test_in_full_precision_nothing_changes(mode):
    members, inputs = ensemble("vmap"), torch.randn(8, 5)
    getattr(members, mode)()
    for index in range(3):
        torch.testing.assert_close(members.member(index)(inputs), members(inputs).logits[index])


def test_a_network_taken_out_has_no_hooks():
    alone = ensemble("vmap").member(0)
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in alone.modules())
