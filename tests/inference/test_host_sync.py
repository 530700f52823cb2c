"""A step never waits for the device: no number is read from a tensor, and none is sent as one."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from hecka.diversity.terms import HECKA, PairwiseCKA
from hecka.inference.independent import Independent
from hecka.inference.repulsive import Repulsive
from hecka.members.ensemble import Ensemble

# Reading a number, finding where something is, and what torch.tensor(data) calls before the copy to its device.
WAITING = {torch.ops.aten._local_scalar_dense, torch.ops.aten.nonzero, torch.ops.aten.lift_fresh}


class NoWaiting(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        assert func.overloadpacket not in WAITING, f"{func} in a step"
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    "waiting",
    [lambda x: x.sum().item(), lambda x: 1 if x.sum() > 0 else 0, torch.nonzero, lambda x: x.new_tensor([1.0])],
    ids=["item", "branch", "nonzero", "tensor"],
)
def test_waiting_is_noticed(waiting):
    with pytest.raises(AssertionError, match="in a step"), NoWaiting():
        waiting(torch.ones(2))


@pytest.mark.parametrize(
    "method",
    [
        Independent(),
        Repulsive(gamma="auto", warmup=5),
        Repulsive(HECKA(kernel="rbf", normalized=True), gamma="auto"),
        Repulsive(HECKA(kernel="linear", s=0), gamma=0.5, outlier_term=PairwiseCKA(centering="one-sided")),
    ],
    ids=["independent", "auto", "normalized", "fixed"],
)
def test_a_step_does_not_wait(modules, batch, execution, method):
    ensemble = Ensemble.from_modules(modules, taps=["1", "2"], execution=execution)
    state = method.start(ensemble)
    with NoWaiting():
        for _ in range(2):
            params = ensemble.params()
            step = method(ensemble, params, batch, state, torch.Generator())
            ensemble.pull_back(params, step.direction)
            state = step.state
