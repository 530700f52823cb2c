import pytest
import torch

from hecka.errors import InputError, NonFiniteError
from hecka.training.meter import Meter


def filled(*rows):
    meter = Meter()
    for step, row in enumerate(rows, start=1):
        meter.add(step, {name: torch.tensor(value) for name, value in row.items()})
    return meter


def test_means_are_over_the_epoch_alone():
    meter = filled({"a": 1.0, "b": -2.0}, {"a": 2.0, "b": 4.0})
    assert meter.read() == {"a": 1.5, "b": 1.0}
    meter.restart()
    meter.add(3, {"a": torch.tensor(7.0), "b": torch.tensor(8.0)})
    assert meter.read() == {"a": 7.0, "b": 8.0}


def test_the_first_bad_step_is_named_with_all_its_parts_and_no_later_one():
    nan, inf = float("nan"), float("inf")
    meter = filled({"a": 1.0, "b": 1.0, "c": 0.0}, {"a": inf, "b": nan, "c": 0.0}, {"a": 1.0, "b": nan, "c": nan})
    meter.restart()
    with pytest.raises(NonFiniteError, match=r"in 'a', 'b' at step 2;.*learning rate"):
        meter.check()


def test_finite_numbers_pass():
    filled({"a": 1e38}, {"a": -1e38}).check()


def test_parts_must_stay_the_same():
    with pytest.raises(InputError, match=r"\['a'\].*\['a', 'b'\] at step 2"):
        filled({"a": 1.0}, {"a": 1.0, "b": 2.0})


def test_state_goes_on_in_another_meter():
    meter, other = filled({"a": 1.0}, {"a": 4.0}), Meter()
    other.load_state_dict(meter.state_dict(), torch.device("cpu"))
    for each in (meter, other):
        each.add(3, {"a": torch.tensor(10.0)})
        assert each.read() == {"a": 5.0}
