import pytest
import torch
from scipy.ndimage import gaussian_filter
from torch import Tensor

from hecka.outliers.distort import blur, boxes, flip, random_boxes, thresholded, tilt, turn, warp, wave
from hecka.outliers.draws import Draws

NO_FILL = torch.zeros(1, 1, 1, 1, dtype=torch.float64)


def numbers(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def picture(*shape: int) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def coordinates(side: int) -> Tensor:
    """(1, 2, side, side), x and y of every pixel: warped, it tells where each pixel came from."""
    centre = (torch.arange(side, dtype=torch.float64) + 0.5) / side * 2 - 1
    return torch.stack([centre.expand(side, side), centre[:, None].expand(side, side)])[None]


def turned(image: Tensor, degrees: float, scale: float = 1.0, shift: tuple[float, float] = (0.0, 0.0)) -> Tensor:
    matrix = turn(numbers(degrees), numbers(scale), numbers(*shift)[None], *image.shape[2:])
    return warp(image, matrix, NO_FILL)


@pytest.mark.parametrize("shape", [(1, 3, 8, 8), (1, 1, 17, 23)])
def test_nothing_asked_changes_nothing(shape: tuple[int, ...]) -> None:
    torch.testing.assert_close(turned(picture(*shape), 0.0), picture(*shape))


@pytest.mark.parametrize("quarters", [-1, 1, 2, 3])
def test_quarter_turns_are_exact(quarters: int) -> None:
    image = picture(1, 2, 9, 9)
    torch.testing.assert_close(turned(image, 90.0 * quarters), image.rot90(quarters, (2, 3)))


def test_a_turn_keeps_the_shape_of_an_oblong_image() -> None:
    image = torch.zeros(1, 1, 11, 21, dtype=torch.float64)
    image[..., 5, 6:15] = 1  # a line of nine pixels, about the middle
    upright = torch.zeros_like(image)
    upright[..., 1:10, 10] = 1
    torch.testing.assert_close(turned(image, 90.0), upright)


def test_flips_are_exact() -> None:
    image = picture(4, 1, 5, 7)
    signs = torch.tensor([[1, 1], [-1, 1], [1, -1], [-1, -1]], dtype=torch.float64)
    flipped = warp(image, flip(signs), NO_FILL)
    for n, dims in enumerate([(), (2,), (1,), (1, 2)]):
        torch.testing.assert_close(flipped[n], image[n].flip(dims))


def test_a_shift_leaves_the_fill_behind() -> None:
    image = picture(1, 2, 10, 10)
    fill = numbers(5.0, -3.0).view(1, 2, 1, 1)
    matrix = turn(numbers(0.0), numbers(1.0), numbers(0.2, -0.1)[None], 10, 10)  # 2 right, 1 up
    moved = warp(image, matrix, fill)
    torch.testing.assert_close(moved[..., :9, 2:], image[..., 1:, :8])
    torch.testing.assert_close(moved[..., :2], fill.expand(1, 2, 10, 2))
    torch.testing.assert_close(moved[..., 9:, :], fill.expand(1, 2, 1, 10))


def test_enlarging_brings_pixels_from_nearer_the_middle() -> None:
    place = coordinates(16)
    torch.testing.assert_close(turned(place, 0.0, scale=2.0), place / 2)


def test_a_tilt_is_a_homography() -> None:
    place, (a, b) = coordinates(32), (0.3, -0.2)
    source = place / (1 + a * place[:, :1] + b * place[:, 1:])
    inside = (source.abs() < 1 - 1 / 32).all(dim=1)[0]
    assert 0.5 < inside.double().mean() < 1
    torch.testing.assert_close(warp(place, tilt(numbers(a, b)[None]), NO_FILL)[..., inside], source[..., inside])


def test_a_view_from_behind_shows_nothing() -> None:
    image = torch.ones(1, 1, 16, 16, dtype=torch.float64)
    seen = warp(image, tilt(numbers(3.0, 0.0)[None]), NO_FILL)
    assert seen.isfinite().all()
    assert (seen[..., :5] == 0).all()  # 1 + 3x < 0
    assert (seen[..., 12:] == 1).all()


def test_displacements_come_before_the_matrix(draws: Draws) -> None:
    place = coordinates(16)
    displacement = wave(draws.normal(1, 2, 16, 16), numbers(3.0), numbers(0.02))
    matrix = turn(numbers(20.0), numbers(2.0), torch.zeros(1, 2).double(), 16, 16)
    source = (place.permute(0, 2, 3, 1) + displacement) @ matrix[:, None, :2, :2].mT
    torch.testing.assert_close(warp(place, matrix, NO_FILL, displacement), source.permute(0, 3, 1, 2))


def test_waves_are_as_strong_and_as_long_as_asked(draws: Draws) -> None:
    sigma, strength = 4.0, 0.15
    waves = wave(draws.normal(20, 2, 96, 64), numbers(sigma).expand(20), numbers(strength).expand(20))
    assert waves.shape == (20, 96, 64, 2)
    size = waves.square().mean(dim=(1, 2)).sqrt()
    torch.testing.assert_close(size, torch.full_like(size, 2 * strength))  # 2 sides from -1 to 1
    for lag in (2, 4, 8):  # white noise smoothed by a Gaussian
        together = (waves[:, lag:] * waves[:, :-lag]).mean() / (2 * strength) ** 2
        assert together == pytest.approx(numbers(-((lag / sigma) ** 2) / 4).exp().item(), abs=0.05)


@pytest.mark.parametrize("sigma", [0.4, 1.5, 5.0])
def test_blur_is_scipys_with_the_border_left_out(sigma: float) -> None:
    image = picture(1, 1, 12, 15)
    ones = torch.ones_like(image)
    inside, weight = (gaussian_filter(x[0, 0].numpy(), sigma, mode="constant", truncate=20) for x in (image, ones))
    blurred = blur(image, numbers(sigma))[0, 0]
    torch.testing.assert_close(blurred, torch.from_numpy(inside / weight), rtol=1e-6, atol=1e-9)


def test_each_image_is_blurred_by_its_own_sigma() -> None:
    images, sigma = picture(3, 2, 9, 9), numbers(0.5, 1.0, 2.0)
    one_by_one = [blur(image[None], each[None])[0] for image, each in zip(images, sigma, strict=True)]
    torch.testing.assert_close(blur(images, sigma), torch.stack(one_by_one))


@pytest.mark.parametrize("shape", [(32, 32), (17, 23), (64, 64)])
def test_random_boxes_have_the_area_asked_for(shape: tuple[int, int], draws: Draws) -> None:
    height, width = shape
    area = draws.uniform(1000, 1, low=0.1, high=0.5)
    masks = random_boxes(draws, area, torch.zeros(1000, 1, *shape))[:, 0]
    tall, wide = masks.any(dim=2).sum(dim=1), masks.any(dim=1).sum(dim=1)
    assert (masks.sum(dim=(1, 2)) == tall * wide).all()  # a full rectangle
    half_a_pixel = 0.5 * (tall + wide) + 0.25
    assert ((tall * wide - area[:, 0] * height * width).abs() <= half_a_pixel).all()
    assert (tall / height / (wide / width)).log2().abs().max() < 1.4  # aspect 2, and rounding
    covered = masks.double().mean(dim=0)
    assert min(edge.max() for edge in (covered[0], covered[-1], covered[:, 0], covered[:, -1])) > 0
    torch.testing.assert_close(covered, covered.flip((0, 1)), rtol=0, atol=0.12)


def test_boxes_unite_and_those_without_area_are_none() -> None:
    area = numbers(0.25, 0.25, 0.0).expand(1, 3)
    place = torch.tensor([[[0.0, 0.0], [0.99, 0.99], [0.5, 0.5]]], dtype=torch.float64)
    expected = torch.block_diag(torch.ones(4, 4), torch.ones(4, 4)).bool()
    assert torch.equal(boxes(area, torch.ones(1, 3), place, 8, 8)[0, 0], expected)


def test_thresholded_boxes_hold_extremes_only(draws: Draws) -> None:
    images = draws.uniform(20, 3, 16, 16, low=-0.5, high=0.9)
    where = random_boxes(draws, torch.full((20, 1), 0.2).double(), images)
    changed = thresholded(images, where)
    inside = where.expand_as(images)
    assert changed[inside].unique().tolist() == [-1.0, 1.0]
    assert torch.equal(changed[~inside], images[~inside])
    above = images > images.mean(dim=(2, 3), keepdim=True)
    assert torch.equal(changed[inside] > 0, above[inside])
