import pytest
import torch
from scipy.stats import binomtest, kstest

from hecka.outliers.broken import broken_images, random_bend, random_view
from hecka.outliers.draws import Draws


def test_half_of_the_broken_images_are_inverted_and_half_erased(draws: Draws) -> None:
    count, marker = 1000, 1e6
    images = broken_images(draws, torch.full((count, 1, 16, 16), marker, dtype=torch.float64)).flatten(1)
    inverted = images.amin(dim=1) < -marker / 10
    assert binomtest(int(inverted.sum()), count, 0.5).pvalue > 1e-3
    # Where the erasure comes last, which is half of the time, its box is still a box.
    erased = torch.isin(images, torch.tensor([-1.0, 0.0, 1.0], dtype=torch.float64)).view(count, 16, 16)
    tall, wide = erased.any(dim=2).sum(dim=1), erased.any(dim=1).sum(dim=1)
    area = erased.sum(dim=(1, 2))
    last = (area == tall * wide) & (area > 0.08 * 16 * 16)  # not a pixel or two of one that was bent
    assert binomtest(int(last.sum()), count, 0.25).pvalue > 1e-3
    assert area[last].double().mean().item() / 16**2 == pytest.approx((0.1 + 0.5) / 2, abs=0.03)
    values = images.view_as(erased)[last][erased[last]]
    for value in (-1.0, 0.0, 1.0):
        assert (values == value).double().mean().item() == pytest.approx(1 / 3, abs=0.1)


def test_no_broken_image_stays_what_it_was(draws: Draws) -> None:
    ramp = torch.linspace(-1, 1, 32, dtype=torch.float64)
    image = (ramp[:, None] * ramp).expand(300, 3, 32, 32)  # flips alone would leave it, or invert it
    changed = broken_images(draws, image)
    difference = torch.minimum((changed - image).abs().mean(dim=(1, 2, 3)), (changed + image).abs().mean(dim=(1, 2, 3)))
    assert difference.min() > 0.05


def test_views_turn_flip_and_tilt_as_far_and_as_often_as_they_should(draws: Draws) -> None:
    view = random_view(draws, torch.zeros(2000, 1, 8, 8, dtype=torch.float64))
    tilts, turns = view[:, 2, :2], view[:, :2, :2]
    assert (view[:, :2, 2] == 0).all()  # about the middle
    tilted = (tilts != 0).all(dim=1)
    assert binomtest(int(tilted.sum()), 2000, 0.5).pvalue > 1e-3
    assert kstest(tilts[tilted, 0].numpy() / 0.43, "uniform", (-1, 2)).pvalue > 1e-3
    mirrored = torch.linalg.det(turns)
    torch.testing.assert_close(mirrored.abs(), torch.ones(2000).double())
    assert binomtest(int((mirrored < 0).sum()), 2000, 0.5).pvalue > 1e-3
    assert binomtest(int((turns[:, 0, 0] < 0).sum()), 2000, 0.5).pvalue > 1e-3
    angle = torch.rad2deg(torch.atan2(turns[:, 1, 0].abs(), turns[:, 0, 0].abs()))
    assert binomtest(int((angle > 0).sum()), 2000, 0.5).pvalue > 1e-3
    assert kstest(angle[angle > 0].numpy() / 30, "uniform").pvalue > 1e-3


def test_bends_move_pixels_by_a_tenth_to_a_quarter_of_a_side(draws: Draws) -> None:
    bend = random_bend(draws, torch.zeros(500, 1, 32, 32, dtype=torch.float64))
    strength = bend.square().mean(dim=(1, 2)).sqrt() / 2  # from -1 to 1 in a side
    torch.testing.assert_close(strength[:, 0], strength[:, 1])
    assert kstest((strength[:, 0].numpy() - 0.1) / 0.16, "uniform").pvalue > 1e-3
