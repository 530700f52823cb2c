"""What is recorded, and what is copied where.  A stand-in for the graph does the recorded step again, in place.

Unlike a graph it also does the step while it records, so networks have no buffers here; those are tested on a GPU.
"""

from dataclasses import dataclass
from functools import partial

import pytest
import torch
from torch import nn

from hecka.errors import InputError
from hecka.inference.repulsive import Repulsive
from hecka.members.ensemble import Ensemble
from hecka.members.hypernetwork import Hypernetwork
from hecka.training import captured
from hecka.training.captured import MOST, Captured
from hecka.training.fit import fit
from hecka.types import Batch


@dataclass
class RepeatedGraph:
    """Reads and writes the same places at every replay, as a CUDA graph does."""

    again: object
    results: list

    def replay(self):
        for place, value in zip(self.results, results(self.again()), strict=True):
            place.copy_(value)


def results(step):
    return [each for part in (step.direction, step.info, step.state) for each in part.values()]


@pytest.fixture
def recorded(monkeypatch):
    """The steps that were recorded."""
    steps = []

    class Graph:
        def register_generator_state(self, generator):
            pass

    def record(graph, device, again):
        step = again()
        steps.append(step)
        graph.replay = RepeatedGraph(again, results(step)).replay
        return step

    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    monkeypatch.setattr(captured, "_capture", record)
    return steps


def mlp():
    return nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 4))


def batches(sizes, outliers=5):
    generator = torch.Generator().manual_seed(0)
    return [
        Batch(
            torch.randn(size, 3, generator=generator),
            torch.randint(4, (size,), generator=generator),
            torch.randn(outliers, 3, generator=generator) if outliers else None,
        )
        for size in sizes
    ]


def trained(members, method, data):
    """What an epoch over the batches leaves, and what its record says."""
    run = fit(members, data, method=method, epochs=1, optimizer=partial(torch.optim.SGD, lr=0.1), progress=False)
    (record,) = run.records
    return run.members.state_dict(), {name: value for name, value in record.items() if name != "seconds"}


@pytest.mark.parametrize("sizes", [[8] * 6, [8, 8, 6, 8, 8, 6, 8, 6]], ids=["one shape", "two shapes"])
@pytest.mark.parametrize("kind", ["ensemble", "hypernetwork"])
def test_replayed_steps_give_the_same_run(recorded, kind, sizes):
    method = Repulsive() if kind == "ensemble" else Repulsive(gamma=0.3, warmup=4)

    def members():
        torch.manual_seed(0)
        return Ensemble(mlp, 4) if kind == "ensemble" else Hypernetwork(mlp, members=4)

    data = batches(sizes)
    kept = [each.inputs.clone() for each in data]
    expected, actual = trained(members(), method, data), trained(members(), Captured(method), data)
    assert len(recorded) == len(set(sizes))
    torch.testing.assert_close(actual, expected)
    torch.testing.assert_close([each.inputs for each in data], kept, rtol=0, atol=0)  # a place of their own


def test_states_stay_as_they_were_and_weights_where_they_are(recorded):
    members, method, generator = Ensemble(mlp, 4), Captured(Repulsive()), torch.Generator()
    states, steps = [method.start(members)], []
    for batch in batches([8, 8, 8]):
        steps.append(method(members, members.params(), batch, states[-1], generator))
        states.append({name: each.clone() for name, each in steps[-1].state.items()})
    kept = [float(each["step"]) for each in states]
    assert kept == [0, 1, 2, 3]
    assert float(steps[0].state["step"]) == 1
    (recording,) = method._recordings.values()
    places = {each.data_ptr() for each in recording.inputs}
    assert {each.data_ptr() for each in members.parameters()} <= places
    assert not {each.data_ptr() for state in states for each in state.values()} & places


def test_batches_of_ever_other_shapes_run_as_ever(recorded):
    data = batches([*range(4, 4 + 2 * MOST), *range(4, 4 + 2 * MOST)], outliers=0)
    torch.manual_seed(0)
    expected, actual = (
        trained(Ensemble(mlp, 4), method, data) for method in (Repulsive(gamma=0.5), Captured(Repulsive(gamma=0.5)))
    )
    assert len(recorded) == MOST
    torch.testing.assert_close(actual, expected)


def test_a_step_that_cannot_be_recorded_says_so(recorded, monkeypatch):
    def fail(graph, device, again):
        raise RuntimeError("operation not permitted when stream is capturing\nmore")

    monkeypatch.setattr(captured, "_capture", fail)
    monkeypatch.setattr(captured, "_recover", lambda generator: None)
    with pytest.raises(InputError, match=r"a step of Repulsive \(operation not permitted when stream is capturing\)"):
        trained(Ensemble(mlp, 4), Captured(Repulsive(gamma=0.5)), batches([8, 8]))


def test_only_cuda_records(train):
    with pytest.raises(InputError, match=r"records CUDA graphs, got members on cpu; use capture=False"):
        train(capture=True)
