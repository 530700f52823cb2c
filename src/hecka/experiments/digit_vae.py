"""A variational autoencoder of digits: images to codes, and codes back to images.

    q(z | x) = N(m(x), diag s(x)^2),   loss = -log Bernoulli(x | g(z)) + KL(q(z | x) || N(0, I)),   z = m + s e

Where codes of two classes meet, ``g`` draws what could be either.  Reference: Kingma and Welling, "Auto-Encoding
Variational Bayes", ICLR 2014.
"""

from __future__ import annotations

import itertools

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from hecka.data.batches import Batches
from hecka.training.schedules import WarmupCosine

PIXELS = 28 * 28
CODE = 16  # numbers a code: fewer blur digits, more leave holes between them
HIDDEN = (512, 256)
BATCH = 250
RATE = 2e-3


class DigitVAE(nn.Module):
    """Fully connected, for images (B, 1, 28, 28) in [0, 1]; weights come from torch's global generator.

    >>> vae = DigitVAE()
    >>> vae.decode(vae.encode(torch.zeros(3, 1, 28, 28))).shape
    torch.Size([3, 1, 28, 28])
    """

    def __init__(self) -> None:
        super().__init__()
        self.encoder = _layers(PIXELS, *HIDDEN, 2 * CODE)
        self.decoder = _layers(CODE, *reversed(HIDDEN), PIXELS)

    def encode(self, images: Tensor) -> Tensor:
        """The mean code (B, CODE) of each image."""
        mean: Tensor = self.encoder(images.flatten(1))[:, :CODE]
        return mean

    def decode(self, codes: Tensor) -> Tensor:
        """Images (B, 1, 28, 28) in [0, 1]."""
        images: Tensor = torch.sigmoid(self.decoder(codes)).view(-1, 1, 28, 28)
        return images

    def loss(self, images: Tensor, generator: torch.Generator) -> Tensor:
        """Minus the evidence's lower bound, in nats, averaged over images."""
        mean, log_variance = self.encoder(images.flatten(1)).chunk(2, dim=1)
        noise = torch.randn(mean.shape, generator=generator)
        logits = self.decoder(mean + (log_variance / 2).exp() * noise)
        missed = F.binary_cross_entropy_with_logits(logits, images.flatten(1), reduction="sum")
        divergence = (mean.square() + log_variance.exp() - 1 - log_variance).sum() / 2
        bound: Tensor = (missed + divergence) / len(images)
        return bound


def _layers(*widths: int) -> nn.Sequential:
    pairs = [(nn.Linear(below, above), nn.GELU()) for below, above in itertools.pairwise(widths)]
    *layers, _ = itertools.chain(*pairs)  # no activation at the end: its numbers have no bounds
    return nn.Sequential(*layers)


def train_vae(images: Tensor, seed: int, epochs: int) -> DigitVAE:
    """A VAE of ``images`` (N, 1, 28, 28), uint8; the caller's generators stay as they were."""
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(seed)
        vae = DigitVAE()
    generator = torch.Generator().manual_seed(seed)
    batches = Batches(images, torch.zeros(len(images)), BATCH, seed=generator)
    optimizer = torch.optim.Adam(vae.parameters(), lr=RATE, fused=True)
    schedule = WarmupCosine(warmup=1, total=epochs * len(batches))
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, schedule)
    for batch in itertools.chain.from_iterable(itertools.repeat(batches, epochs)):
        optimizer.zero_grad()
        vae.loss(batch.inputs.float() / 255, generator).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        scheduler.step()
    return vae.eval()
