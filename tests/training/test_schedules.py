import pickle

import pytest
import torch
from torch.optim import SGD
from torch.optim.lr_scheduler import ConstantLR, CosineAnnealingLR, LinearLR, MultiStepLR, SequentialLR

from hecka.errors import InputError
from hecka.training.schedules import Constant, Milestones, WarmupCosine


def torch_rates(make_scheduler, steps):
    """Rates over time of a torch scheduler whose base rate is 1."""
    optimizer = SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    scheduler = make_scheduler(optimizer)
    rates = []
    for _ in range(steps):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return rates


def warmup_then_cosine(optimizer):
    rise = LinearLR(optimizer, start_factor=1 / 8, total_iters=7)
    fall = CosineAnnealingLR(optimizer, T_max=32, eta_min=0.1)
    return SequentialLR(optimizer, [rise, fall], milestones=[8])


@pytest.mark.filterwarnings("ignore:The epoch parameter:UserWarning")  # SequentialLR's own
@pytest.mark.parametrize(
    ("schedule", "reference", "steps"),
    [
        (WarmupCosine(warmup=8, total=40, final=0.1), warmup_then_cosine, 40),
        (WarmupCosine(warmup=0, total=30), lambda optimizer: CosineAnnealingLR(optimizer, T_max=30), 30),
        (Milestones(at=(3, 7, 7), factor=0.5), lambda optimizer: MultiStepLR(optimizer, [3, 7, 7], 0.5), 10),
        (Constant(), lambda optimizer: ConstantLR(optimizer, factor=1.0), 5),
    ],
)
def test_factors_are_those_of_torch(schedule, reference, steps):
    assert [schedule(step) for step in range(steps)] == pytest.approx(torch_rates(reference, steps), abs=1e-9)


def test_cosine_stays_down_after_its_end():
    assert [WarmupCosine(2, 10, final=0.2)(step) for step in (10, 15, 20)] == pytest.approx([0.2] * 3)


@pytest.mark.parametrize("schedule", [Constant(), WarmupCosine(2, 9), Milestones((3, 5))])
def test_schedules_survive_pickling_and_their_repr(schedule):
    assert pickle.loads(pickle.dumps(schedule)) == schedule
    assert eval(repr(schedule)) == schedule


@pytest.mark.parametrize(("warmup", "total"), [(5, 5), (-1, 5), (0, 0)])
def test_a_warmup_has_to_end_before_the_schedule(warmup, total):
    with pytest.raises(InputError, match="warmup < total"):
        WarmupCosine(warmup, total)


def test_milestones_have_to_rise():
    with pytest.raises(InputError, match="rising order"):
        Milestones((7, 3))
