from dataclasses import dataclass

import pytest
import torch
from torch import nn
from torch._dynamo.exc import TorchDynamoException

from hecka.inference.independent import Independent
from hecka.members.ensemble import Ensemble


@dataclass(frozen=True)
class Compilable(Independent):
    """A method that brings its own compiled form, here any other method."""

    form: object = None

    def start(self, members):
        return (self.form or super()).start(members)

    def compiled(self):
        if self.form is None:
            raise RuntimeError("this Python is too new")
        return self.form


class NoCompiler(Independent):
    """Fails at its first batch of another size than 4, as a compiler does, after some drawing."""

    def __call__(self, members, params, batch, state, generator):
        if len(batch.inputs) == 4:
            return super().__call__(members, params, batch, state, generator)
        torch.rand(3, generator=generator)
        raise TorchDynamoException("no C compiler\nhere\nmore")


def losses(run):
    return [record["loss"] for record in run.records]


@pytest.mark.parametrize("batch_size", [12, 5])
def test_without_a_compiler_the_run_goes_on_with_one_warning(train, batch_size):
    expected = train(method=Independent(), batch_size=batch_size)
    with pytest.warns(UserWarning, match=r"TorchDynamoException: no C compiler here\); going on without it") as caught:
        run = train(method=Compilable(form=NoCompiler()), compile=True, batch_size=batch_size)
    assert len(caught) == 1
    assert losses(run) == losses(expected)


def test_a_compiler_that_cannot_even_start_is_no_obstacle(train):
    with pytest.warns(UserWarning, match="too new.*going on without it"):
        run = train(method=Compilable(), compile=True)
    assert losses(run) == losses(train(method=Independent()))


def test_drawings_of_a_failed_compilation_are_undone(train, hooked):
    @dataclass(frozen=True)
    class Falling(hooked):
        def compiled(self):
            return NoCompiler()

    with pytest.warns(UserWarning, match="going on without it"):
        run = train(method=Falling(), compile=True, batch_size=6)
    expected = train(batch_size=6)
    assert [record["drawn"] for record in run.records] == [record["drawn"] for record in expected.records]


def test_errors_of_the_method_itself_are_raised_at_once(train, hooked):
    steps = []

    def fail_at_3(step):
        steps.append(step)
        if step == 3:
            raise RuntimeError("its own")

    with pytest.raises(RuntimeError, match="its own"):
        train(method=Compilable(form=hooked(hook=fail_at_3)), compile=True)
    assert steps == [1, 2, 3]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # the compiler's own
@pytest.mark.parametrize("execution", ["vmap", "loop"])
def test_torch_compile_gives_the_same_run(train, data, execution):
    def members():
        return Ensemble(
            lambda: nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5), nn.Tanh(), nn.Linear(5, 3)),
            members=2,
            taps=[],
            execution=execution,
        )

    # 5 + 5 + 2 examples: the last batch compiles anew.  The fallback's warning is an error here.
    settings = {"method": Independent(), "batch_size": 5, "epochs": 2}
    plain, fast = train(members=members(), **settings), train(members=members(), compile=True, **settings)
    for name, tensor in plain.members.state_dict().items():
        torch.testing.assert_close(fast.members.state_dict()[name], tensor)
