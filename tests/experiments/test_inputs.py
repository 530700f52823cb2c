"""Which examples train, which validate, and what a batch goes through."""

from dataclasses import replace

import pytest
import torch

from hecka.data.images import Whitening
from hecka.errors import InputError
from hecka.experiments.inputs import Preparation, in_order, split, training_data
from hecka.experiments.recipe import DataSettings
from hecka.experiments.sources import Source

CPU = torch.device("cpu")
SETTINGS = DataSettings("union", held_out=0.2)


@pytest.fixture
def source():
    """100 images of one part, each once, and 20 of another, each ten times; pixels tell the image."""
    group = torch.cat([torch.arange(100), 100 + torch.arange(200) // 10])
    return Source(
        images=group.byte()[:, None, None, None].expand(-1, 1, 2, 2).contiguous(),
        labels=torch.arange(300) % 10,
        part=torch.cat([torch.zeros(100), torch.ones(200)]).to(torch.int8),
        group=group,
        classes=tuple("0123456789"),
        whitening=Whitening((0.5,), (0.25,)),
        notes=(),
    )


def test_every_part_gives_its_share_and_copies_never_part(source):
    training, held_out = split(source, SETTINGS)
    assert len(training) == 80 + 160
    assert [int((source.part[held_out] == part).sum()) for part in (0, 1)] == [20, 40]
    assert set(source.group[training].tolist()).isdisjoint(source.group[held_out].tolist())
    assert sorted(torch.cat([training, held_out]).tolist()) == list(range(300))


def test_a_fraction_keeps_whole_groups_of_each_part(source):
    training, held_out = split(source, replace(SETTINGS, fraction=0.5))
    used = torch.cat([training, held_out])
    assert [int((source.part[used] == part).sum()) for part in (0, 1)] == [50, 100]
    assert torch.bincount(source.group[used])[100:].unique().tolist() == [0, 10]


def test_a_smaller_fraction_is_part_of_a_larger_one_and_the_split_repeats(source):
    small, large = (torch.cat(split(source, replace(SETTINGS, fraction=share))) for share in (0.25, 0.5))
    assert set(small.tolist()) < set(large.tolist())
    assert torch.equal(split(source, SETTINGS)[0], split(source, SETTINGS)[0])


def test_nothing_held_out_means_no_validation(source):
    data = training_data(source, replace(SETTINGS, held_out=0.0), 32, 0, CPU)
    assert data.validation is None
    assert data.examples == 300


def test_a_batch_is_whitened_as_by_its_definition(source):
    prepared = Preparation(source.whitening, augment=False, device=CPU)(source.images, torch.Generator())
    torch.testing.assert_close(prepared, source.whitening(source.images))


def test_augmentation_moves_images_before_they_are_whitened_and_repeats(source):
    images = torch.full((64, 1, 8, 8), 255, dtype=torch.uint8)
    preparation = Preparation(source.whitening, augment=True, device=CPU)
    one, same = (preparation(images, torch.Generator().manual_seed(3)) for _ in range(2))
    assert torch.equal(one, same)
    black, white = -2.0, 2.0
    torch.testing.assert_close(one.unique(), torch.tensor([black, white]))


def test_training_batches_follow_their_seed_and_evaluation_its_order(source):
    first, same, other = (next(iter(training_data(source, SETTINGS, 16, seed, CPU).training)) for seed in (1, 1, 2))
    assert torch.equal(first.inputs, same.inputs)
    assert not torch.equal(first.inputs, other.inputs)
    feed = in_order(source.images, source.labels, source.whitening, CPU)
    assert torch.equal(torch.cat([batch.targets for batch in feed]), source.labels)


@pytest.mark.parametrize("wrong", [{"fraction": 0.0}, {"fraction": 1.5}, {"held_out": 1.0}])
def test_impossible_shares_are_refused(wrong):
    with pytest.raises(InputError, match="expected a share"):
        replace(SETTINGS, **wrong)
