"""Inliers by name, the published set before its surrogate, and outliers in the inliers' size and colours."""

import gzip
import struct
from dataclasses import replace

import numpy as np
import pytest
import torch

from hecka.data.catalogue import CATALOGUE
from hecka.data.images import ImageData, Whitening
from hecka.errors import InputError
from hecka.experiments import sources
from hecka.experiments.sources import inliers, inverted, outliers, shuffled


def write_mnist(root, count=30):
    """MNIST's own files, of ``count`` images each."""
    place = root / "MNIST" / "raw"
    place.mkdir(parents=True)
    for split in ("train", "t10k"):
        pixels = np.full((count, 28, 28), 7, np.uint8)
        for kind, array in (("images-idx3", pixels), ("labels-idx1", np.arange(count, dtype=np.uint8) % 10)):
            header = bytes((0, 0, 8, array.ndim)) + struct.pack(f">{array.ndim}I", *array.shape)
            (place / f"{split}-{kind}-ubyte.gz").write_bytes(gzip.compress(header + array.tobytes()))


def write_ambiguous(root, images=6):
    """Ambiguous-MNIST's own files, of ``images`` different images, half for each split."""
    place = root / "AmbiguousMNIST"
    place.mkdir(parents=True)
    torch.save(torch.rand(images, 1, 28, 28), place / "amnist_samples.pt")
    torch.save(torch.arange(10).expand(images, 10).clone(), place / "amnist_labels.pt")


def test_dirty_mnist_is_mnist_and_then_ambiguous_mnist_with_its_copies_in_one_group(tmp_path):
    write_mnist(tmp_path)
    write_ambiguous(tmp_path)
    source = inliers("dirty-mnist", "train", tmp_path)
    assert source.part.tolist() == [0] * 30 + [1] * 30
    assert source.group.tolist() == [*range(30), *[30] * 10, *[31] * 10, *[32] * 10]
    assert source.images.shape == (60, 1, 28, 28)
    assert (source.images[:30] == 7).all()
    assert all(
        (source.images[source.group == group] == source.images[source.group == group][0]).all() for group in (30, 32)
    )
    assert source.whitening == CATALOGUE["mnist"].whitening
    assert not any("surrogate" in note for note in source.notes)
    assert any("60 000" in note for note in source.notes), "a part of a set says so"


def test_the_surrogate_stands_in_and_says_so(fake_data, monkeypatch):
    def load(name, split, root=None):
        if name == "ambiguous-mnist":
            raise InputError("nothing of it")
        return fake_data(name.removesuffix("-surrogate"), split)

    monkeypatch.setattr(sources, "load", load)
    assert "surrogate Ambiguous-MNIST" in inliers("dirty-mnist", "test").notes


def test_without_either_the_error_names_the_command_that_makes_one(tmp_path):
    write_mnist(tmp_path)
    with pytest.raises(InputError, match="hecka data make-ambiguous"):
        inliers("dirty-mnist", "train", tmp_path)


@pytest.fixture
def grey():
    return inliers("digits", "test")


def test_outliers_take_the_inliers_size_and_colours(fake_data, grey):
    images, notes = outliers("svhn", grey)
    assert images.shape[1:] == (1, 8, 8)
    assert images.dtype == torch.uint8
    assert any("32 x 32" in note for note in notes)
    assert any("3 channels as 1" in note for note in notes)


def test_a_flat_colour_stays_that_grey_at_any_size(monkeypatch, grey):
    flat = torch.tensor([30, 60, 90], dtype=torch.uint8)[:, None, None].expand(4, 3, 20, 20).contiguous()
    data = ImageData(flat, torch.zeros(4, dtype=torch.int64), "svhn", "test", ("a",), Whitening((0.5,) * 3, (1.0,) * 3))
    monkeypatch.setattr(sources, "load", lambda name, split, root: data)
    colour = replace(grey, images=torch.zeros(2, 3, 28, 28, dtype=torch.uint8))
    assert (outliers("svhn", grey)[0] == 60).all()
    assert (outliers("svhn", colour)[0] == flat[:1, :, :1, :1]).all()


def test_sets_of_the_right_shape_stay_as_they_are(fake_data, grey):
    images, notes = outliers("digits", grey)
    assert torch.equal(images, fake_data("digits", "test").images)
    assert notes == ("made-up digits",)


def test_made_outliers_keep_what_they_should(grey):
    assert torch.equal(inverted(inverted(grey.images)), grey.images)
    moved = shuffled(grey.images)
    assert torch.equal(moved.flatten(1).sort(1).values, grey.images.flatten(1).sort(1).values)
    assert not torch.equal(moved, grey.images)
    assert torch.equal(shuffled(grey.images[3:4]), moved[3:4]), "one permutation for all"


def test_a_mistyped_outlier_set_is_refused_with_the_nearest(grey):
    with pytest.raises(InputError, match="did you mean 'inverted'"):
        outliers("invrted", grey)
