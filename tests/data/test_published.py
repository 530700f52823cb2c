"""What everybody knows of the published sets, asked of the copies in HECKA_DATA."""

import os

import pytest
import torch

from hecka.data.check import check
from hecka.data.load import load

pytestmark = pytest.mark.skipif(
    not os.environ.get("HECKA_DATA"), reason="HECKA_DATA does not say where the published files are"
)

MNIST_TRAIN = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
MNIST_TEST = [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]


@pytest.fixture
def published():
    """Loads a split, and all files of it, or skips."""

    def read(name, split):
        if any(line.state == "missing" for line in check(name, split=split)):
            pytest.skip(f"HECKA_DATA has not all of {name} {split}")
        return load(name, split)

    return read


@pytest.mark.parametrize(
    ("name", "split", "histogram", "first"),
    [
        ("mnist", "train", MNIST_TRAIN, [5, 0, 4, 1, 9]),
        ("mnist", "test", MNIST_TEST, [7, 2, 1, 0, 4]),
        ("fashion-mnist", "train", [6000] * 10, [9, 0, 0, 3, 0]),
        ("fashion-mnist", "test", [1000] * 10, [9, 2, 1, 1, 6]),
        ("kmnist", "train", [6000] * 10, []),
        ("kmnist", "test", [1000] * 10, []),
        ("cifar10", "train", [5000] * 10, [6, 9, 9, 4, 1]),
        ("cifar10", "test", [1000] * 10, [3, 8, 8, 0, 6]),
        ("cifar100", "train", [500] * 100, []),
        ("cifar100", "test", [100] * 100, []),
    ],
)
def test_labels_are_those_that_were_published(published, name, split, histogram, first):
    data = published(name, split)
    assert data.labels.bincount().tolist() == histogram
    assert data.labels[: len(first)].tolist() == first


@pytest.mark.parametrize(
    ("name", "split", "shape"),
    [("mnist", "train", (60_000, 1, 28, 28)), ("fashion-mnist", "test", (10_000, 1, 28, 28)),
     ("cifar10", "test", (10_000, 3, 32, 32))],
)  # fmt: skip
def test_shapes_are_those_that_were_published(published, name, split, shape):
    data = published(name, split)
    assert data.images.shape == shape
    assert (data.images.dtype, data.labels.dtype) == (torch.uint8, torch.int64)
    assert data.images.aminmax() == (0, 255)


@pytest.mark.parametrize(
    ("name", "split", "std"),
    [
        ("mnist", "train", [1.0]),
        ("fashion-mnist", "train", [1.0]),
        # CIFAR-10's published std is not that of its pixels, which is .2470 .2435 .2616.
        ("cifar10", "test", [0.2470 / 0.2023, 0.2435 / 0.1994, 0.2616 / 0.2010]),
    ],
)
def test_whitening_centres_the_pixels(published, name, split, std):
    whitened = published(name, split).whitened()
    assert whitened.mean((0, 2, 3)).abs().max() < 0.02
    assert torch.allclose(whitened.std((0, 2, 3)), torch.tensor(std), atol=0.01)


@pytest.mark.parametrize(("name", "split"), [("mnist", "train"), ("mnist", "test"), ("cifar10", "test")])
def test_official_files_have_no_notes(published, name, split):
    data = published(name, split)
    if {line.state for line in check(name, split=split)} <= {"ok", "unpacked"}:
        assert data.notes == ()
    else:
        assert "checksum differs" in data.notes[-1]


def test_an_mnist_digit_is_upright_and_bright_on_dark(published):
    """The first training image, a 5, begins with its top bar in the right half of row 5, and has an empty border."""
    five = published("mnist", "train").images[0, 0]
    assert five[:5].sum() == five[:, :4].sum() == five[25:].sum() == five[:, 24:].sum() == 0
    assert five[5].nonzero().flatten().tolist() == list(range(12, 24))
    assert five[5, 12:].tolist() == [3, 18, 18, 18, 126, 136, 175, 26, 166, 255, 247, 127, 0, 0, 0, 0]


def test_a_part_of_cifar_10_says_so():
    there = [line.state for line in check("cifar10", split="train") if line.path.startswith("cifar-10-batches-py/")]
    found = len(there) - there.count("missing")
    if found in (0, 5):
        pytest.skip(f"HECKA_DATA has {found} of CIFAR-10's 5 training files, not a part of them")
    data = load("cifar10", "train")
    assert len(data) == 10_000 * found
    assert f"CIFAR-10 train: {found} of 5 files found, {found}0 000 of 50 000 images" in data.notes


def test_svhn_is_whole_or_says_what_it_is(published):
    data = published("svhn", "test")
    assert data.images.shape[1:] == (3, 32, 32)
    assert data.labels[:10].tolist() == [5, 2, 1, 0, 6, 1, 9, 1, 1, 8]
    (line,) = check("svhn", split="test")
    whole = len(data) == 26_032
    assert any("of 26 032 images" in note for note in data.notes) != whole
    assert any("checksum differs" in note for note in data.notes) == (line.state != "ok")
