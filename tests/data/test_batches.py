import pytest
import torch

from hecka.data.batches import Batches
from hecka.errors import InputError

INPUTS = torch.arange(10.0)[:, None]
TARGETS = torch.arange(10)


def order(batches):
    return torch.cat([batch.targets for batch in batches]).tolist()


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("batch_size", [1, 3, 5, 10])
def test_an_epoch_holds_every_example_once_with_its_own_target(batch_size, drop_last):
    batches = Batches(INPUTS, TARGETS, batch_size, drop_last=drop_last)
    epoch = list(batches)
    kept = 10 - 10 % batch_size if drop_last else 10
    seen = torch.cat([batch.targets for batch in epoch])
    assert len(epoch) == len(batches)
    assert len(set(seen.tolist())) == len(seen) == kept
    assert torch.equal(torch.cat([batch.inputs for batch in epoch])[:, 0], seen.float())


def test_order_changes_every_epoch_and_a_seed_repeats_it():
    one, same, other = (Batches(INPUTS, TARGETS, 4, seed=seed) for seed in (7, 7, 8))
    first, second = order(one), order(one)
    assert first != second
    assert [order(same), order(same)] == [first, second]
    assert order(other) != first


def test_all_examples_come_first_about_equally_often():
    batches = Batches(INPUTS, TARGETS, 5, seed=torch.Generator().manual_seed(0))
    counts = torch.bincount(torch.tensor([order(batches)[0] for _ in range(2000)]), minlength=10)
    # 200 expected with a standard deviation of 13.4
    assert (counts - 200).abs().max() < 60


def test_the_generator_is_all_that_an_epoch_depends_on():
    batches = Batches(INPUTS, TARGETS, 3)
    list(batches)
    state = batches.generator.get_state()
    expected = order(batches)
    again = Batches(INPUTS, TARGETS, 3, seed=99)
    again.generator.set_state(state)
    assert order(again) == expected


@pytest.mark.parametrize("batch_size", [None, 10, 64])
def test_a_batch_of_the_whole_set_is_the_set_itself(batch_size):
    (batch,) = Batches(INPUTS, TARGETS, batch_size)
    assert batch.inputs is INPUTS
    assert batch.targets is TARGETS


def test_unshuffled_batches_are_views_in_order():
    batches = Batches(INPUTS, TARGETS, 4, shuffle=False)
    assert order(batches) == list(range(10))
    assert next(iter(batches)).inputs.data_ptr() == INPUTS.data_ptr()


@pytest.mark.parametrize("broken", ["inputs", "targets"])
def test_numbers_that_are_not_finite_are_counted_and_located(broken):
    tensors = {"inputs": torch.zeros(6, 2, 3), "targets": torch.zeros(6, 1)}
    tensors[broken][4] = float("nan")
    tensors[broken][5, 0] = float("inf")
    place, count = {"inputs": (r"\[4, 0, 0\]", 9), "targets": (r"\[4, 0\]", 2)}[broken]
    with pytest.raises(InputError, match=rf"{broken}.*{count} of .*first at {place}"):
        Batches(**tensors)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"targets": torch.zeros(9)}, r"\(10, 1\) and targets \(9,\)"),
        ({"inputs": torch.zeros(0, 1), "targets": torch.zeros(0)}, "at least 1 example"),
        ({"batch_size": 0}, "batch_size of at least 1"),
        ({"batch_size": 11, "drop_last": True}, "leaves nothing"),
    ],
)
def test_unusable_arguments_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        Batches(**{"inputs": INPUTS, "targets": TARGETS, **change})
