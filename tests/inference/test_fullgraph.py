"""A whole step is one graph: nothing in it depends on numbers, so it can be compiled, and be a CUDA graph."""

import pytest
import torch
from torch import nn

from hecka.diversity.terms import HECKA
from hecka.inference.independent import Independent
from hecka.inference.repulsive import Repulsive
from hecka.inference.svgd import SVGD
from hecka.inference.wgd import WGD
from hecka.members.ensemble import Ensemble
from hecka.networks.activations import Crater
from hecka.networks.pooling import HalvingMaxPool
from hecka.training.compiled import _traced_gradients
from hecka.types import Batch

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings(
        "ignore:.*should not be instantiated:DeprecationWarning"
    ),  # torch's own tracer does that
]

METHODS = {
    "independent": Independent(),
    "repulsive": Repulsive(gamma=0.5),
    "repulsive-auto": Repulsive(HECKA(kernel="rbf", normalized=True)),
    "svgd": SVGD(),
    "svgd-he": SVGD(kernel=HECKA()),
    "kde-wgd-he": WGD(kernel=HECKA()),
    "ssge-wgd": WGD(estimator="ssge"),
}


def net() -> nn.Module:
    return nn.Sequential(nn.Conv2d(1, 2, 3), Crater(), HalvingMaxPool(), nn.Flatten(), nn.Linear(18, 4))


@pytest.fixture(autouse=True)
def _nothing_compiled():
    """What other tests compiled of the same code would make sizes unknown here."""
    torch._dynamo.reset()


@pytest.mark.parametrize("execution", ["vmap", "loop"])
@pytest.mark.parametrize("name", METHODS)
def test_a_step_is_one_graph_with_the_same_direction(name, execution):
    torch.manual_seed(0)
    method, members = METHODS[name], Ensemble(net, 3, taps=["2", "4"], execution=execution)
    batch = Batch(torch.randn(6, 1, 8, 8), torch.arange(6) % 4, torch.randn(5, 1, 8, 8))
    state, params, generator = method.start(members), members.params(), torch.Generator()
    expected = method(members, params, batch, state, generator)
    # aot_eager traces forward and backward into graphs, as every backend must, and spares the C++ compiler's minutes.
    compiled = torch.compile(method.__call__, fullgraph=True, backend="aot_eager")
    with _traced_gradients():
        actual = compiled(members, params, batch, state, generator)
    for key, value in expected.direction.items():
        torch.testing.assert_close(actual.direction[key], value, rtol=1e-4, atol=1e-5)


def test_a_break_in_the_graph_is_found():
    def broken(x):
        return x * x.sum().item() if x.sum() > 0 else x

    with pytest.raises(torch._dynamo.exc.Unsupported):
        torch.compile(broken, fullgraph=True, backend="aot_eager")(torch.ones(3))
