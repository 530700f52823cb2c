import pytest
import torch
from scipy.stats import binomtest

from hecka.outliers import channels
from hecka.outliers.channels import noise_images
from hecka.outliers.draws import Draws

COUNT = 3000


@pytest.fixture
def without_boxes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "BOXES", 0.0)


def test_channels_go_together_as_often_as_published(draws: Draws, without_boxes: None) -> None:
    assert channels.MIXED + channels.SAME + sum(channels.SMOOTH.values()) == pytest.approx(1)
    images = noise_images(draws, COUNT, 3, 8, 8)
    repeated = (images == images[:, :1]).all(dim=(1, 2, 3))
    assert binomtest(int(repeated.sum()), COUNT, (0.35 + 0.15 + 0.15) / 2).pvalue > 1e-3
    constant = (images == images[..., :1, :1]).all(dim=(2, 3))
    assert binomtest(int(constant[:, 0].sum()), COUNT, (0.35 + 0.35) / 8).pvalue > 1e-3
    together = constant.all(dim=1)
    assert binomtest(int(together.sum()), COUNT, 0.35 / 8 + 0.35 / 8**3).pvalue > 1e-3


def test_boxes_leave_extremes_in_a_quarter_of_the_images(draws: Draws) -> None:
    images = noise_images(draws, COUNT, 1, 16, 16)
    # A box shows where contrast is weak: elsewhere no pixel comes near both extremes.
    extreme = (images.abs() == 1).any(dim=(1, 2, 3))
    assert binomtest(int(extreme.sum()), COUNT, 0.25).pvalue > 1e-3


@pytest.mark.parametrize("shape", [(1, 28, 28), (2, 17, 23), (3, 32, 32), (5, 1, 1)])
def test_noise_of_any_size_stays_between_black_and_white(shape: tuple[int, int, int], draws: Draws) -> None:
    images = noise_images(draws, 60, *shape)
    assert images.shape == (60, *shape)
    assert images.abs().max() <= 1
    assert len(images.flatten(1).unique(dim=0)) == 60


def test_contrast_is_never_too_weak_to_be_seen(draws: Draws, without_boxes: None) -> None:
    low, high = torch.aminmax(noise_images(draws, COUNT, 1, 16, 16).flatten(1), dim=1)
    contrast = high - low
    assert contrast[contrast > 0].min() > 0.02  # blocks may happen to be alike; constants are meant to be
    assert contrast.median() > 0.4
