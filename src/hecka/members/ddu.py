r"""DDU: a trained network that also knows how dense its training features are around an input.

Gaussians are fitted to the features that one layer gives the training set, class by class (``scores.density``); an
input whose features have a low density is unlike anything seen.  The network should be trained with
``networks.spectral.spectral_bound`` and shortcuts, or features of different inputs may coincide.

With M members, each has features and Gaussians of its own, and the score is the mean of their log densities: feature
spaces have different volumes, so densities themselves cannot be added.

Reference: Mukhoti et al., "Deep deterministic uncertainty", CVPR 2023.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from hecka.errors import InputError, nearest
from hecka.members.ensemble import Ensemble
from hecka.members.evaluation import batches, evaluation_mode
from hecka.scores.density import ClassGaussians, DensityPrediction
from hecka.types import Members, Output


@dataclass(frozen=True, eq=False)
class DDU:
    """Trained members with a density of their features; made by ``fit``.

    >>> net = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 3))
    >>> inputs, labels = torch.randn(30, 2), torch.arange(30) % 3
    >>> ddu = DDU.fit(net, inputs, labels, tap="1")
    >>> answer = ddu.predict(torch.randn(5, 2))
    >>> answer.probs.shape, answer.log_density.shape
    (torch.Size([5, 3]), torch.Size([5]))
    """

    members: Members
    tap: str
    densities: tuple[ClassGaussians, ...]

    @classmethod
    def fit(
        cls,
        members: Members | nn.Module,
        inputs: Tensor,
        labels: Tensor,
        tap: str,
        *,
        priors: bool = False,
        batch_size: int = 1024,
    ) -> DDU:
        """Fit the density of trained members, or of one plain network, which stays as it is.

        Args:
            members: an ensemble or hypernetwork that records ``tap``, or any network.
            inputs: training inputs (N, ...), without augmentation.
            labels: their classes (N,).
            tap: the module whose features count; pooled ones, just before the last layer, in the paper.
            priors: weight classes by their size.
            batch_size: examples that go through the network at once.
        """
        if not isinstance(members, Members):
            members = Ensemble.from_modules([members], taps=[tap])
        if tap not in members.taps:
            raise InputError(f"DDU: {tap!r} is not recorded; {nearest(tap, members.taps)}")
        with _still(members):
            batches = [_features(output, tap) for output in _outputs(members, inputs, batch_size)]
        densities = (
            ClassGaussians.fit(torch.cat(features), labels.to(features[0].device), priors)
            for features in zip(*batches, strict=True)
        )
        return cls(members, tap, tuple(densities))

    def predict(self, inputs: Tensor, batch_size: int = 1024) -> DensityPrediction:
        """Logits of all members, and the log density of their features, of ``inputs`` (B, ...)."""
        logits, log_densities = [], []
        with _still(self.members):
            for output in _outputs(self.members, inputs, batch_size):
                features = _features(output, self.tap)
                each = [density.log_density(z) for density, z in zip(self.densities, features, strict=True)]
                logits.append(output.logits)
                log_densities.append(torch.stack(each).mean(0))
        return DensityPrediction(torch.cat(logits, dim=1), torch.cat(log_densities))


def _features(output: Output, tap: str) -> list[Tensor]:
    """One (B, D) matrix for each member."""
    return [features.flatten(1) for features in output.features[tap]]


def _outputs(members: Members, inputs: Tensor, batch_size: int) -> Iterator[Output]:
    params = members.params()
    device = next(iter(params.values())).device
    for batch in batches(inputs, batch_size):
        yield members.run(params, batch.to(device))


@contextmanager
def _still(members: Members) -> Iterator[None]:
    """Evaluation mode, without gradient."""
    if not isinstance(members, nn.Module):
        raise InputError(f"DDU: expected members that are an nn.Module, got {type(members).__name__}; use an Ensemble")
    with evaluation_mode(members), torch.no_grad():
        yield
