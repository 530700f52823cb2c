"""What is timed beside training steps: answers, the energy alone, outliers, scores, the grid of CKA.

Each comes with the way in which anybody would write it, where there is one.
"""

from __future__ import annotations

import torch
from torch import Tensor

from hecka.bench.measure import Action
from hecka.bench.steps import LENET, Problem
from hecka.diversity.energy import hyperspherical_energy
from hecka.diversity.layer_weights import layer_weights
from hecka.outliers.images import Images
from hecka.scores.calibration import ece
from hecka.scores.detection import auroc
from hecka.similarity.cka import CKAGrid
from hecka.types import Features

IMAGES = 10_000
ANSWERED_AT_ONCE = 1024  # the default of ``predict``
GRID_BATCH = 500  # of the 10 000 images that a grid is made of; the terms of batches are added up


def answers(problem: Problem, device: torch.device) -> Action:
    """``predict`` on 10 000 images."""
    ensemble, inputs = problem.ensemble(device, record=False), _images(problem, IMAGES, device)
    return lambda: ensemble.predict(inputs, ANSWERED_AT_ONCE)


def separate_answers(problem: Problem, device: torch.device) -> Action:
    """The same from separate modules, in batches of the same size."""
    nets, inputs = [net.eval() for net in problem.modules(device)], _images(problem, IMAGES, device)

    @torch.no_grad()
    def action() -> Tensor:
        return torch.stack([torch.cat([net(batch) for batch in torch.split(inputs, ANSWERED_AT_ONCE)]) for net in nets])

    return action


def term_alone(device: torch.device) -> Action:
    """The energy of LeNet's features, forward and backward."""
    features = _features(LENET.examples, device)
    return lambda: _backward(LENET.term(features), features)


def textbook_term(device: torch.device) -> Action:
    """The same energy, each step as it stands in a textbook: HKH with matrices H, for every member and layer."""
    features = _features(LENET.examples, device)
    centre = torch.eye(LENET.examples, device=device) - 1 / LENET.examples
    weights = layer_weights(LENET.term.weights, len(features))

    def action() -> object:
        total = torch.zeros((), device=device)
        for each, weight in zip(features.values(), weights, strict=True):
            unit = [torch.nn.functional.normalize(one.flatten(1)) for one in each]
            centred = torch.stack([(centre @ (one @ one.T) @ centre).flatten() for one in unit])
            cosines = torch.nn.functional.normalize(centred)
            total = total + weight * hyperspherical_energy(cosines @ cosines.T)
        return _backward(total, features)

    return action


def grid(device: torch.device) -> Action:
    """Unbiased CKA of all members and layers with all others, on one batch."""
    features = _features(GRID_BATCH, device)

    def action() -> Tensor:
        each = CKAGrid()
        each.update(features)
        return each.compute()

    return action


def grid_by_pairs(device: torch.device) -> Action:
    """The same, pair by pair: two Gram matrices and three unbiased HSIC for each."""
    features = _features(GRID_BATCH, device)
    rows = [one.detach().flatten(1) for each in features.values() for one in each]

    def action() -> Tensor:
        pairs = [torch.stack([_unbiased_cka(one, other) for other in rows]) for one in rows]
        return torch.stack(pairs)

    return action


def outliers(count: int, device: torch.device) -> Action:
    """Finished outliers of 32 x 32 pixels in three colours."""
    images, generator = torch.rand(32, 3, 32, 32, device=device), torch.Generator(device).manual_seed(0)
    maker = Images(black=(0.0,) * 3, white=(1.0,) * 3, count=count)
    return lambda: maker(images, generator)


def scoring(count: int) -> Action:
    """AUROC and calibration error of so many predictions; half of the scores are outliers'."""
    generator = torch.Generator().manual_seed(0)
    scores, confidence = torch.rand(2, count, generator=generator)
    correct = torch.rand(count, generator=generator) < confidence
    inliers, outlying = scores[: count // 2], scores[count // 2 :] + 0.2
    return lambda: (auroc(inliers, outlying), ece(confidence, correct))


def _images(problem: Problem, count: int, device: torch.device) -> Tensor:
    return torch.randn(count, *problem.shape, generator=torch.Generator().manual_seed(0)).to(device)


def _features(examples: int, device: torch.device) -> Features:
    """Leaves like what LeNet's taps record."""
    ensemble = LENET.ensemble(device)
    with torch.no_grad():
        features = ensemble(_images(LENET, examples, device)).features
    return {tap: tuple(one.detach().requires_grad_() for one in each) for tap, each in features.items()}


def _backward(energy: Tensor, features: Features) -> object:
    leaves = [one for each in features.values() for one in each]
    return torch.autograd.grad(energy, leaves)


def _unbiased_cka(x: Tensor, y: Tensor) -> Tensor:
    first, second = x @ x.T, y @ y.T
    first.fill_diagonal_(0), second.fill_diagonal_(0)
    return _hsic(first, second) / (_hsic(first, first) * _hsic(second, second)).sqrt()


def _hsic(first: Tensor, second: Tensor) -> Tensor:
    """Song et al. (2012), equation 5, of matrices without diagonal."""
    count = len(first)
    trace = (first * second).sum()
    sums = first.sum() * second.sum() / ((count - 1) * (count - 2))
    rows = first.sum(0) @ second.sum(0) * 2 / (count - 2)
    return (trace + sums - rows) / (count * (count - 3))
