import math

import pytest
import torch
from scipy.stats import binomtest, kstest
from torch import Tensor

from hecka.errors import InputError
from hecka.outliers import images as module
from hecka.outliers.draws import Draws
from hecka.outliers.images import Images, random_move, random_noise, varied

SHAPES = [(1, 28, 28), (3, 32, 32), (3, 64, 64), (2, 17, 23), (1, 1, 1)]


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def training_images(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.rand(shape, generator=seeded(1), dtype=dtype)


def unit_range(channels: int, count: int = 100) -> Images:
    """-1 is black and 1 is white."""
    return Images((-1.0,) * channels, (1.0,) * channels, count)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("count", [1, 48])
def test_images_of_any_size_are_finite_and_all_different(shape: tuple[int, ...], count: int) -> None:
    inputs = training_images(5, *shape)
    outliers = Images.like(inputs, count)(inputs, seeded())
    assert outliers.shape == (count, *shape)
    assert outliers.isfinite().all()
    assert len(outliers.flatten(1).unique(dim=0)) >= count - 5  # one pixel may be erased to the same value twice


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_outliers_take_the_inputs_dtype(dtype: torch.dtype) -> None:
    outliers = unit_range(3)(training_images(4, 3, 8, 8, dtype=dtype), seeded())
    assert outliers.dtype == dtype
    assert outliers.isfinite().all()


def test_outliers_take_the_inputs_device_and_never_wait_for_it() -> None:
    """The meta device holds no numbers: whoever reads one back, or lets one decide a shape, fails."""
    inputs = training_images(4, 3, 8, 8).to("meta")
    outliers = unit_range(3, count=20)(inputs, seeded())
    assert (outliers.device.type, outliers.shape) == ("meta", (20, 3, 8, 8))


def test_one_seed_repeats_and_two_draws_differ() -> None:
    inputs, make, generator = training_images(6, 3, 16, 16), unit_range(3), seeded()
    first, second = make(inputs, generator), make(inputs, generator)
    assert torch.equal(first, make(inputs, seeded()))
    assert (first != second).any(dim=(1, 2, 3)).all()
    assert not torch.equal(first, make(inputs, seeded(1)))


def test_nothing_else_is_drawn_from_or_changed() -> None:
    inputs = training_images(6, 3, 16, 16).requires_grad_()
    before, state = inputs.detach().clone(), torch.get_rng_state()
    outliers = unit_range(3)(inputs, seeded())
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(inputs, before)
    assert not outliers.requires_grad


@pytest.mark.parametrize(("count", "low", "high"), [(100, 35, 35), (48, 16, 17)])
def test_a_share_of_035_is_made_from_training_images(count: int, low: int, high: int) -> None:
    inputs, make, generator = torch.full((4, 1, 16, 16), 1e6), unit_range(1, count), seeded()  # seen wherever it is
    repeats = 2000 // count
    broken = [int((make(inputs, generator).abs() > 1e3).any(dim=(1, 2, 3)).sum()) for _ in range(repeats)]
    # An image can be moved out of sight, or erased where it was left in sight, but seldom is.
    assert max(broken) <= high
    assert sum(broken) / (repeats * count) == pytest.approx(0.35, abs=0.03)
    assert sum(number >= low for number in broken) >= 0.8 * repeats


def test_every_training_image_is_used_and_every_place_may_hold_it() -> None:
    inputs = torch.stack([torch.full((1, 8, 8), 10.0**power) for power in (3, 6, 9)])
    outliers = torch.stack([unit_range(1, 10)(inputs, seeded(seed)) for seed in range(200)])
    power = outliers.abs().amax(dim=(2, 3, 4)).clamp(min=1.0).log10().div(3).round()
    assert [(power == source).double().mean().item() for source in (1, 2, 3)] == pytest.approx([0.35 / 3] * 3, abs=0.03)
    for share in (power > 0).double().mean(dim=0).tolist():
        assert share == pytest.approx(0.35, abs=0.12)


@pytest.mark.parametrize(("variation", "share"), [("AFFINE", 0.75), ("BLUR", 0.3), ("NOISE", 0.25)])
def test_images_are_varied_as_often_as_published(
    variation: str, share: float, draws: Draws, monkeypatch: pytest.MonkeyPatch
) -> None:
    for other in {"AFFINE", "BLUR", "NOISE", "INVERSION_GREY"} - {variation}:
        monkeypatch.setattr(module, other, 0.0)
    images = draws.uniform(400, 1, 8, 8)
    changed = (varied(draws, images) != images).flatten(1).any(dim=1)
    assert int(changed.sum()) == share * 400


@pytest.mark.parametrize(("channels", "share"), [(1, 0.05), (2, 0.5), (3, 0.5)])
def test_colour_images_are_inverted_more_often(channels: int, share: float, draws: Draws) -> None:
    result = varied(draws, torch.full((2000, channels, 16, 16), 9.0, dtype=torch.float64))
    inverted = result[:, 0, 8, 8] < 0  # the middle stays in sight, and 9 is beyond all noise
    assert binomtest(int(inverted.sum()), 2000, share).pvalue > 1e-3


def test_moves_turn_scale_and_shift_as_far_as_published(draws: Draws) -> None:
    centre = (torch.arange(16, dtype=torch.float64) + 0.5) / 8 - 1
    place = torch.stack([centre.expand(16, 16), centre[:, None].expand(16, 16)])
    middle = random_move(draws, place.expand(1000, 2, 16, 16))[:, :, 7:9, 7:9]  # where four pixels came from
    shift = -middle.mean(dim=(2, 3)) / 2  # from -1 to 1 in a side
    across = (middle[..., 0, 1] - middle[..., 0, 0]) * 8
    assert kstest(shift.flatten().numpy() / 0.1, "uniform", (-1, 2)).pvalue > 1e-3
    assert kstest((1 / across.norm(dim=1) - 0.8).numpy() / 0.7, "uniform").pvalue > 1e-3
    assert kstest(torch.atan2(across[:, 1], across[:, 0]).numpy() / math.pi, "uniform", (-1, 2)).pvalue > 1e-3


def test_noise_has_deviations_up_to_a_fifth(draws: Draws) -> None:
    deviation = random_noise(draws, torch.zeros(400, 3, 32, 32, dtype=torch.float64)).std(dim=(1, 2, 3))
    assert kstest((deviation - 0.005).numpy() / 0.195, "uniform").pvalue > 1e-3


def test_a_change_of_scale_changes_nothing_else() -> None:
    inputs = training_images(6, 2, 16, 16, dtype=torch.float64)
    scale, shift = torch.tensor([0.1, 50.0]).double().view(2, 1, 1), torch.tensor([3.0, -7.0]).double().view(2, 1, 1)
    scaled = inputs * scale + shift
    plain = Images.like(inputs)(inputs, seeded())
    torch.testing.assert_close((Images.like(scaled)(scaled, seeded()) - shift) / scale, plain, rtol=0, atol=1e-9)


def test_outliers_reach_from_black_to_white_and_little_further() -> None:
    inputs = training_images(6, 3, 16, 16) * 2 - 1
    outliers = unit_range(3, 400)(inputs, seeded())
    assert outliers.abs().max() < 1 + 5 * 0.2  # the strongest noise
    beyond = (outliers.abs() > 1 + 1e-6).any(dim=(1, 2, 3))
    assert beyond.sum() <= 0.25 * 400
    for level in (-0.99, 0.99):
        assert ((outliers - level).abs() < 0.1).any(dim=(1, 2, 3)).double().mean() > 0.2


def test_like_takes_the_range_of_each_channel() -> None:
    inputs = training_images(9, 2, 4, 4)
    make = Images.like(inputs, count=7)
    assert make.count == 7
    for channel in range(2):
        assert (make.black[channel], make.white[channel]) == torch.aminmax(inputs[:, channel])
    assert eval(repr(make), {"Images": Images}) == make


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (lambda: Images((0.0,), (1.0, 1.0)), "one black and one white a channel, got 1 and 2"),
        (lambda: Images((), ()), "one black and one white"),
        (lambda: Images((0.0, 2.0), (1.0, 2.0)), r"black < white, got 2.0 and 2.0 \(channel 1\)"),
        (lambda: Images((0.0,), (1.0,), count=0), "count of at least 1, got 0"),
        (lambda: Images.like(torch.tensor([0.0, math.nan]).view(2, 1, 1, 1)), "finite"),
        (lambda: Images.like(torch.zeros(5, 28, 28)), r"\(N, C, H, W\), at least one, got \(5, 28, 28\)"),
        (lambda: Images.like(torch.zeros(0, 1, 4, 4)), "at least one"),
        (lambda: unit_range(3)(torch.zeros(2, 1, 8, 8), seeded()), r"\(B, 3, H, W\), got torch.float32 \(2, 1, 8, 8\)"),
        (lambda: unit_range(1)(torch.zeros(2, 64), seeded()), r"\(B, 1, H, W\), got torch.float32 \(2, 64\)"),
        (lambda: unit_range(1)(torch.zeros(0, 1, 8, 8), seeded()), r"got torch.float32 \(0, 1, 8, 8\)"),
        (lambda: unit_range(1)(torch.zeros(2, 1, 8, 8, dtype=torch.uint8), seeded()), "floating-point .* torch.uint8"),
    ],
)
def test_mistakes_are_told(mistake, message: str) -> None:
    with pytest.raises(InputError, match=message):
        mistake()
