import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from hecka.data.batches import Batches
from hecka.errors import InputError
from hecka.training.feed import Feed
from hecka.types import Batch

X, Y = torch.arange(6.0)[:, None], torch.arange(6)


@pytest.mark.parametrize(
    "data",
    [
        (X, Y),
        [X, Y],
        Batches(X, Y, shuffle=False),
        DataLoader(TensorDataset(X, Y), batch_size=6),
        [(X, Y)],
        [[X, Y]],
        [Batch(X, Y)],
    ],
    ids=["tuple", "list", "Batches", "DataLoader", "pairs", "lists", "Batch"],
)
def test_every_kind_of_data_gives_the_same_batches_again_and_again(data):
    feed = Feed(data, "cpu")
    for _ in range(2):
        (batch,) = feed
        assert torch.equal(batch.inputs, X)
        assert torch.equal(batch.targets, Y)
    assert len(feed) == 1


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (iter([(X, Y)]), "an iterator lasts one epoch"),
        (TensorDataset(X, Y), r"once an epoch.*got a TensorDataset; wrap a Dataset in one"),
        (3, "got a int"),
    ],
)
def test_data_that_cannot_be_iterated_over_again_is_refused(data, message):
    with pytest.raises(InputError, match=message):
        Feed(data, "cpu")


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ((X, Y, Y), r"tuple of \(Tensor, Tensor, Tensor\)"),
        (X, "got Tensor"),
        (X.numpy(), r"got ndarray; .*torch\.as_tensor"),
        ((X, Y[:5]), r"\(6, 1\) and targets \(5,\)"),
        ((X / 0, Y), r"inputs of a batch.*6 of 6"),
        (Batch(X, Y, outliers=X.log()), r"outliers of a batch.*1 of 6.*first at \[0, 0\]"),
    ],
)
def test_bad_batches_are_refused(item, message):
    with pytest.raises(InputError, match=message):
        list(Feed([item], "cpu"))


def test_batches_come_on_the_device_asked_for():
    for data in ((X, Y), [(X, Y)]):
        (batch,) = Feed(data, "meta", seed=torch.Generator())  # no generator lives on this device
        assert {batch.inputs.device.type, batch.targets.device.type} == {"meta"}


def test_batch_size_belongs_to_tensors():
    with pytest.raises(InputError, match="set the size there"):
        Feed([(X, Y)], "cpu", batch_size=2)


def test_every_generator_of_the_order_is_found():
    own = torch.Generator()
    assert Feed(Batches(X, Y, seed=own), "cpu").generators() == {"data": own}
    loader = DataLoader(TensorDataset(X, Y), shuffle=True, generator=own)
    assert set(Feed(loader, "cpu").generators().values()) == {own}
    assert Feed([(X, Y)], "cpu").generators() == {}
