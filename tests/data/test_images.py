import numpy as np
import pytest
import torch

from hecka.data.images import ImageData, Whitening
from hecka.errors import InputError

COLOUR = Whitening((0.1, 0.2, 0.3), (0.5, 0.6, 0.7))


def data(**changes):
    settings = {
        "images": torch.randint(0, 256, (4, 3, 5, 6), dtype=torch.uint8, generator=torch.Generator().manual_seed(0)),
        "labels": torch.tensor([0, 1, 1, 0]),
        "name": "mine",
        "split": "train",
        "classes": ("cat", "dog"),
        "whitening": COLOUR,
    }
    return ImageData(**(settings | changes))


def test_whitening_is_its_formula_channel_by_channel():
    mine = data()
    before = mine.images.clone()
    pixels = mine.images.numpy().astype(np.float64)
    for channel in range(3):
        expected = (pixels[:, channel] / 255 - COLOUR.mean[channel]) / COLOUR.std[channel]
        np.testing.assert_allclose(mine.whitened()[:, channel].numpy(), expected, atol=1e-5)
    assert mine.whitened().dtype == torch.float32
    assert torch.equal(mine.images, before)


def test_outliers_are_whitened_as_the_inliers_are():
    other = Whitening((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
    assert torch.equal(data().whitened(other), data().images / 255)


def test_whitening_for_another_number_of_channels_is_refused():
    with pytest.raises(InputError, match=r"whitening: expected images \(N, 1, H, W\), got \(4, 3, 5, 6\)"):
        data().whitened(Whitening((0.5,), (0.5,)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"images": torch.zeros(4, 3, 5, 6)}, "uint8"),
        ({"images": torch.zeros(4, 5, 6, dtype=torch.uint8)}, r"\(N, C, H, W\)"),
        ({"images": torch.zeros(0, 3, 5, 6, dtype=torch.uint8), "labels": torch.zeros(0).long()}, "at least 1 image"),
        ({"labels": torch.tensor([0, 1, 1])}, r"labels \(4,\), one an image"),
        ({"labels": torch.tensor([0, 1, 1, 0], dtype=torch.int32)}, "int64"),
        ({"labels": torch.tensor([0, 1, 2, 0])}, "from 0 to 1, .* got 0 to 2"),
        ({"labels": torch.tensor([0, -1, 1, 0])}, "from 0 to 1, .* got -1 to 1"),
    ],
)
def test_what_is_no_labelled_set_of_images_is_refused(changes, message):
    with pytest.raises(InputError, match=f"data 'mine' train: .*{message}"):
        data(**changes)
