"""A step never waits for the device: no number is read from a tensor, and none is sent as one."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from hecka.diversity.terms import HECKA, PairwiseCKA
from hecka.inference.independent import Independent
from hecka.inference.input_gradients import InputGradients
from hecka.inference.posterior import Gaussian
from hecka.inference.repulsive import Repulsive
from hecka.inference.svgd import SVGD
from hecka.inference.weight_penalty import WeightPenalty
from hecka.inference.wgd import WGD
from hecka.members.ensemble import Ensemble
from hecka.members.hypernetwork import Hypernetwork
from hecka.networks.lenet import LeNet5
from hecka.outliers import Images
from hecka.types import Batch

# Reading a number, finding where something is, checking a solve's outcome, and what torch.tensor(data) calls before the
# copy to its device.
WAITING = {
    torch.ops.aten._local_scalar_dense,
    torch.ops.aten.nonzero,
    torch.ops.aten.masked_select,
    torch.ops.aten._linalg_check_errors,
    torch.ops.aten.lift_fresh,
}


# How many numbers a mask takes is known to the device alone.
INDEXING = {torch.ops.aten.index, torch.ops.aten.index_put, torch.ops.aten.index_put_}


def _masks(indices):
    return any(index is not None and index.dtype in (torch.bool, torch.uint8) for index in indices)


class NoWaiting(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        assert func.overloadpacket not in WAITING, f"{func} in a step"
        assert not (func.overloadpacket in INDEXING and _masks(args[1])), f"{func} by a mask in a step"
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    "waiting",
    [
        lambda x: x.sum().item(),
        lambda x: 1 if x.sum() > 0 else 0,
        torch.nonzero,
        lambda x: x.new_tensor([1.0]),
        lambda x: x[x > 0],
        lambda x: torch.linalg.solve(torch.diag(x), x),
    ],
    ids=["item", "branch", "nonzero", "tensor", "masked", "checked solve"],
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


POSTERIOR = {"data_size": 40, "prior": Gaussian(1.0)}
METHODS = {
    "independent": Independent(),
    "repulsive": Repulsive(gamma=0.5, warmup=2),
    "penalty": WeightPenalty(Repulsive(gamma=0.5), strength=0.1),
    "input-gradients": InputGradients(),
    "svgd": SVGD(**POSTERIOR),
    "svgd-he": SVGD(kernel=HECKA()),
    "fsvgd": SVGD(space="logits", **POSTERIOR),
    "kde-wgd-he": WGD(kernel=HECKA()),
    "sge-wgd": WGD(estimator="sge"),
    "ssge-fwgd": WGD(estimator="ssge", space="softmax", **POSTERIOR),
}


@pytest.mark.parametrize("kind", [Ensemble, Hypernetwork])
@pytest.mark.parametrize("name", METHODS)
def test_a_whole_step_on_images_does_not_wait(name, kind):
    """As ``fit`` makes it, from the drawing of members to the optimizer."""
    method, members = METHODS[name], kind(LeNet5, members=3, taps=LeNet5.taps).train()
    optimizer = torch.optim.AdamW(members.parameters(), fused=True)
    inputs, targets, generator = torch.rand(6, 1, 28, 28), torch.arange(6), torch.Generator()
    batch = Batch(inputs, targets, Images(black=(0.0,), white=(1.0,), count=5)(inputs, generator))
    state = method.start(members)
    with NoWaiting():
        optimizer.zero_grad()
        params = members.params(generator)
        step = method(members, params, batch, state, generator)
        members.pull_back(params, step.direction)
        optimizer.step()
