import pytest
import torch
from scipy.stats import chisquare

from hecka.data.augment import CropAndFlip
from hecka.data.images import Whitening
from hecka.errors import InputError

FILL = (-1.5, 2.5)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def by_loops(image, padding, fill, down, right, flipped):
    """One crop of one padded and perhaps mirrored image, pixel by pixel."""
    channels, height, width = image.shape
    out = torch.empty_like(image)
    for c in range(channels):
        for i in range(height):
            for j in range(width):
                y, x = i + down - padding, (width - 1 - j if flipped else j) + right - padding
                out[c, i, j] = image[c, y, x] if 0 <= y < height and 0 <= x < width else fill[c]
    return out


def test_every_image_is_one_of_the_crops_and_each_is_as_likely():
    padding, image = 1, torch.rand(2, 3, 4, generator=seeded())
    ways = [(down, right, flipped) for down in range(3) for right in range(3) for flipped in (False, True)]
    crops = torch.stack([by_loops(image, padding, FILL, *way) for way in ways])
    made = CropAndFlip(padding, FILL)(image.expand(3600, -1, -1, -1), seeded(1))
    same = (made[:, None] == crops).flatten(2).all(dim=2)
    assert (same.sum(dim=1) == 1).all()
    assert chisquare(same.sum(dim=0)).pvalue > 1e-3


def test_no_padding_only_flips():
    images = torch.rand(50, 1, 3, 5, generator=seeded())
    made = CropAndFlip(padding=0)(images, seeded())
    flipped = (made != images).flatten(1).any(dim=1)
    assert 10 < flipped.sum() < 40
    assert torch.equal(made[flipped], images[flipped].flip(3))


def test_without_fill_the_border_is_zero():
    made = CropAndFlip(padding=4)(torch.ones(20, 3, 6, 6), seeded())
    assert made.unique().tolist() == [0.0, 1.0]


def test_black_of_a_whitening_is_what_it_makes_of_black():
    whitening = Whitening((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010))
    pixels = torch.randint(256, (9, 3, 8, 8), generator=seeded(), dtype=torch.uint8)
    before = CropAndFlip(padding=2)(pixels, seeded(1))
    after = CropAndFlip(padding=2, fill=whitening.black)(whitening(pixels), seeded(1))
    torch.testing.assert_close(after, whitening(before))
    torch.testing.assert_close(
        torch.tensor(whitening.white), whitening(torch.full((1, 3, 1, 1), 255, dtype=torch.uint8))[0, :, 0, 0]
    )


def test_one_seed_repeats_and_nothing_else_is_drawn_from():
    images, state = torch.rand(8, 3, 8, 8), torch.get_rng_state()
    first, again, other = (CropAndFlip()(images, seeded(seed)) for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.equal(torch.get_rng_state(), state)


def test_it_never_waits_for_a_device():
    """The meta device holds no numbers: whoever reads one back fails."""
    made = CropAndFlip(fill=FILL)(torch.zeros(4, 2, 8, 8, device="meta"), seeded())
    assert (made.device.type, made.shape) == ("meta", (4, 2, 8, 8))


def test_mistakes_are_told():
    with pytest.raises(InputError, match="at least 0 pixels, got -1"):
        CropAndFlip(padding=-1)
    with pytest.raises(InputError, match=r"expected images \(B, 2, H, W\), got \(4, 3, 8, 8\)"):
        CropAndFlip(fill=FILL)(torch.zeros(4, 3, 8, 8), seeded())
    with pytest.raises(InputError, match=r"expected images \(B, C, H, W\), got \(3, 8, 8\)"):
        CropAndFlip()(torch.zeros(3, 8, 8), seeded())
