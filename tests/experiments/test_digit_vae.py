import pytest
import torch
from torch.distributions import Bernoulli, Normal, kl_divergence

from hecka.experiments.digit_vae import CODE, DigitVAE, train_vae


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def digits(count=500):
    """Two kinds of images: a bar that stands and one that lies, with some noise."""
    images = torch.randint(40, (count, 1, 28, 28), generator=seeded(), dtype=torch.uint8)
    images[::2, :, 4:24, 12:16] = 230
    images[1::2, :, 12:16, 4:24] = 230
    return images


def test_the_loss_is_minus_the_lower_bound_of_torch_s_distributions():
    torch.manual_seed(0)
    vae, images = DigitVAE().double(), torch.rand(5, 1, 28, 28, generator=seeded(), dtype=torch.float64)
    mean, log_variance = vae.encoder(images.flatten(1)).chunk(2, dim=1)
    posterior = Normal(mean, (log_variance / 2).exp())
    noise = torch.randn(mean.shape, generator=seeded(7))  # the very noise that the loss will draw
    logits = vae.decoder(posterior.mean + posterior.stddev * noise)
    likelihood = Bernoulli(logits=logits, validate_args=False).log_prob(images.flatten(1)).sum()
    prior = Normal(torch.zeros_like(mean), torch.ones_like(mean))
    bound = (likelihood - kl_divergence(posterior, prior).sum()) / 5
    assert vae.loss(images, seeded(7)).item() == pytest.approx(-bound.item(), rel=1e-6)


def test_codes_and_images_have_their_shapes_and_range():
    vae = DigitVAE()
    codes = vae.encode(torch.rand(3, 1, 28, 28))
    images = vae.decode(codes)
    assert codes.shape == (3, CODE)
    assert images.shape == (3, 1, 28, 28)
    assert ((images >= 0) & (images <= 1)).all()


def test_a_seed_repeats_and_nothing_else_is_drawn_from():
    images, state = digits(), torch.get_rng_state()
    first, again, other = (next(train_vae(images, seed, epochs=2).parameters()) for seed in (0, 0, 1))
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_a_trained_one_gives_back_what_it_saw():
    images = digits()
    vae, pixels = train_vae(images, seed=0, epochs=40), images.float() / 255
    assert not vae.training
    with torch.no_grad():
        back = vae.decode(vae.encode(pixels))
        assert vae.loss(pixels, seeded()) < 0.6 * DigitVAE().loss(pixels, seeded())
    # Above the middle, where bars that stand are bright and those that lie are not.
    assert back[::2, :, 4:10, 12:16].mean() > back[1::2, :, 4:10, 12:16].mean() + 0.4
