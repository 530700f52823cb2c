"""Images between two digits, chosen for how unsure an ensemble is about them.

    x = g(t m(a) + (1 - t) m(b)),   p(x) = mean_j softmax_j(x)          a, b of different classes

A VAE (m, g) draws images between two digits and judges j say what each could be.  Kept are those that the judges doubt
together: of little mutual information, so that the doubt is the image's and not the ensemble's.  As many are taken from
each step of a scale of entropy, whatever the candidates' own frequencies are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from hecka.data.grey_sets import MNIST
from hecka.errors import InputError
from hecka.experiments.digit_vae import DigitVAE
from hecka.inference.independent import Independent
from hecka.members.ensemble import Ensemble
from hecka.networks.lenet import LeNet5
from hecka.training.fit import fit
from hecka.training.schedules import WarmupCosine

LOW, HIGH, STEPS = 0.06, 0.80, 20
"""The scale of entropy, in nats.  Its middle is the published mean, .43, and ln 2 = .69, an even choice of two, lies
within."""
MOST_DISAGREEMENT = 0.05
"""The most mutual information, in nats: about a tenth of the entropy."""
NEAREST = 0.2
"""The least of t and 1 - t: nearer to a digit, images are as clear as it is."""

JUDGES = 5
JUDGES_BATCH, JUDGES_RATE = 100, 5e-3
ROUND = 20_000
"""Candidates drawn at once."""
ROUNDS = 50
"""After so many without enough of every entropy, something is wrong."""


@dataclass(frozen=True)
class Judged:
    """Images (N, 1, 28, 28) in uint8, their label distributions (N, 10), and how far the judges disagree (N,)."""

    images: Tensor
    probs: Tensor
    disagreement: Tensor

    @property
    def entropy(self) -> Tensor:
        """(N,), of the label distributions, in nats."""
        entropy: Tensor = torch.special.entr(self.probs).sum(dim=1)
        return entropy

    def take(self, rows: Tensor) -> Judged:
        """Some of them."""
        return Judged(self.images[rows], self.probs[rows], self.disagreement[rows])

    def joined(self, other: Judged) -> Judged:
        """Both, one after the other."""
        return Judged(
            torch.cat([self.images, other.images]),
            torch.cat([self.probs, other.probs]),
            torch.cat([self.disagreement, other.disagreement]),
        )


def train_judges(images: Tensor, labels: Tensor, seed: int, epochs: int) -> Ensemble:
    """LeNets that learn digits (N, 1, 28, 28), uint8, by themselves."""
    judges = Ensemble(LeNet5, members=JUDGES, taps=[], seed=seed)
    steps = epochs * -(-len(images) // JUDGES_BATCH)
    fit(
        judges,
        (MNIST.whitening(images), labels),
        method=Independent(),
        epochs=epochs,
        batch_size=JUDGES_BATCH,
        optimizer=partial(torch.optim.AdamW, lr=JUDGES_RATE, fused=True),
        schedule=WarmupCosine(warmup=steps // 10, total=steps),
        clip=1.0,
        seed=seed,
    )
    return judges


@torch.no_grad()
def candidates(
    vae: DigitVAE, judges: Ensemble, codes: Tensor, labels: Tensor, count: int, generator: torch.Generator
) -> Judged:
    """Up to ``count`` judged images between digits of ``codes`` (N, D) and different ``labels`` (N,)."""
    first, second = torch.randint(len(codes), (2, count), generator=generator)
    weight = torch.empty(count, 1).uniform_(NEAREST, 1 - NEAREST, generator=generator)
    differ = labels[first] != labels[second]
    mixed = torch.lerp(codes[first], codes[second], weight)[differ]
    images = vae.decode(mixed).mul(255).round().byte()  # what is judged is what will be read
    answer = judges.predict(MNIST.whitening(images))
    return Judged(images, answer.probs, answer.mutual_information)


def choose(
    vae: DigitVAE, judges: Ensemble, digits: Tensor, labels: Tensor, count: int, generator: torch.Generator
) -> tuple[Judged, int]:
    """``count`` images between ``digits`` (N, 1, 28, 28), uint8, in random order, and how many candidates it took.

    Args:
        vae: draws them.
        judges: say what they could be.
        digits: whose codes are mixed.
        labels: (N,), their classes.
        count: how many images; a multiple of STEPS.
        generator: draws pairs, weights and the order.
    """
    if count % STEPS:
        raise InputError(f"choose: expected a count that {STEPS} steps of entropy can share, got {count}")
    with torch.no_grad():
        codes = vae.encode(digits.float() / 255)
    edges = torch.linspace(LOW, HIGH, STEPS + 1)
    kept, seen = None, 0
    for _ in range(ROUNDS):
        made = candidates(vae, judges, codes, labels, ROUND, generator)
        seen += len(made.images)
        kept = made if kept is None else kept.joined(made)
        step = torch.bucketize(kept.entropy, edges) - 1  # -1 and STEPS are off the scale
        step[kept.disagreement > MOST_DISAGREEMENT] = -1
        rows = [(step == each).nonzero()[: count // STEPS, 0] for each in range(STEPS)]
        chosen = torch.cat(rows)
        kept = kept.take(chosen)
        if len(chosen) == count:
            return kept.take(torch.randperm(count, generator=generator)), seen
    fewest = min(map(len, rows))
    raise InputError(
        f"choose: expected {count // STEPS} images of every entropy, got {fewest} of one among {seen} candidates; "
        "train judges that agree more, or admit more disagreement"
    )
