import pytest
import torch

from hecka.errors import InputError
from hecka.outliers.border import Border
from hecka.training.outlier_stock import OutlierStock
from hecka.types import Batch


@pytest.fixture
def batch():
    return Batch(torch.zeros(4, 2), torch.zeros(4))


def test_one_call_serves_many_steps_in_equal_parts_that_are_all_there(batch):
    calls = []

    def maker(inputs, generator):
        calls.append(torch.rand(6, 2, generator=generator))
        return calls[-1]

    stock, generator = OutlierStock(maker, steps=3), torch.Generator().manual_seed(0)
    parts = [stock.add_to(batch, generator).outliers for _ in range(6)]
    assert torch.equal(torch.cat(parts), torch.cat(calls))
    assert (len(calls), {len(part) for part in parts}) == (2, {2})


def test_what_is_left_goes_on_in_another_stock(batch):
    def stock():
        return OutlierStock(Border((-1.0, -1.0), (1.0, 1.0), count=6), steps=3)

    one, generator = stock(), torch.Generator().manual_seed(0)
    one.add_to(batch, generator)
    other = stock()
    other.load_state_dict(one.state_dict(), torch.device("cpu"))
    assert torch.equal(other.add_to(batch, generator).outliers, one.add_to(batch, generator).outliers)


def test_a_batch_that_has_outliers_takes_no_others(batch):
    with pytest.raises(InputError, match="got both"):
        OutlierStock(Border((-1.0,), (1.0,))).add_to(
            Batch(batch.inputs, batch.targets, batch.inputs), torch.Generator()
        )


@pytest.mark.parametrize(
    ("steps", "made", "message"),
    [(0, 1, "at least 1, got 0"), (2, 3, "a multiple of 2, got 3"), (1, 0, "a multiple of 1, got 0")],
)
def test_counts_that_cannot_be_shared_out_are_refused(batch, steps, made, message):
    with pytest.raises(InputError, match=message):
        OutlierStock(lambda inputs, generator: torch.zeros(made, 2), steps).add_to(batch, torch.Generator())
