"""CIFAR-10 against SVHN: five ResNet18, and a WideResNet for DDU.

Settings are the published ones; those of the energy were tuned with one-sided centring, and keep it.  The published
schedule moves once an epoch, this one at every step.
"""

from __future__ import annotations

from dataclasses import replace

from hecka.experiments.methods import IndependentSettings, ParticleSettings, RepulsiveSettings, TermSettings
from hecka.experiments.recipe import DataSettings, MembersSettings, NetworkSettings, OptimizerSettings, Recipe

OUTLIERS = 48
MEMBERS = 5
WEIGHTS = (5e-5, 0.122, 0.221, 0.321, 0.421, 0.521, 0.620, 2e-4)
TERM = TermSettings(
    kernel="linear",
    weights=WEIGHTS,
    normalize_weights=False,
    centering="one-sided",
    kind="exponential",
    eps_dist=0.001,
    eps_arc=0.001,
)

ENSEMBLE = Recipe(
    name="cifar10-resnet18/ensemble",
    data=DataSettings("cifar10", augment=True),
    network=NetworkSettings("resnet18"),
    members=MembersSettings(MEMBERS),
    method=IndependentSettings(),
    optimizer=OptimizerSettings("sgd", lr=0.1, weight_decay=5e-4, decay_all=True),
    epochs=200,
    batch_size=128,
    ood=("svhn",),
)


def ddu() -> Recipe:
    """A WideResNet-28-10 with bounded layers, and the density of its features."""
    return replace(
        ENSEMBLE,
        name="cifar10-resnet18/ddu",
        network=NetworkSettings("wide-resnet", spectral_bound=3.0),
        members=MembersSettings(1, density="pool"),
        optimizer=replace(ENSEMBLE.optimizer, schedule="steps", milestones=(150 / 350, 250 / 350)),
        epochs=350,
    )


def ensemble() -> Recipe:
    """Five networks, each as if it were alone."""
    return ENSEMBLE


def svgd_rbf() -> Recipe:
    """SVGD, compared by distance of weights."""
    # The mean loss counts as often as there are members, as in the other rows: SVGD divides by M.
    method = ParticleSettings("svgd", data_size=MEMBERS)
    return replace(ENSEMBLE, name="cifar10-resnet18/svgd-rbf", method=method)


def svgd_cka() -> Recipe:
    """SVGD, compared by CKA."""
    method = ParticleSettings("svgd", term=replace(TERM, energy="cka"), data_size=MEMBERS)
    return replace(ENSEMBLE, name="cifar10-resnet18/svgd-cka", method=method)


def svgd_he() -> Recipe:
    """SVGD, compared by hyperspherical energy of CKA."""
    method = ParticleSettings("svgd", term=replace(TERM, eps_dist=1e-4, eps_arc=0.0075), data_size=MEMBERS)
    return replace(ENSEMBLE, name="cifar10-resnet18/svgd-he", method=method)


def ensemble_he() -> Recipe:
    """Networks that repel each other on the data."""
    term = replace(TERM, weights=(0.0, 0.15, 0.25, 0.35, 0.4, 0.45, 0.5, 1e-4))
    method = RepulsiveSettings(term, gamma=1.0, beta_in=float(MEMBERS), warmup=10)
    return replace(ENSEMBLE, name="cifar10-resnet18/ensemble-he", method=method)


OOD_HE = RepulsiveSettings(TERM, gamma=0.5, gamma_ood=0.75, beta=0.75, beta_in=float(MEMBERS), warmup=10)


def ensemble_ood_he() -> Recipe:
    """Networks that repel each other on the data and on outliers, and doubt outliers."""
    return replace(ENSEMBLE, name="cifar10-resnet18/ensemble-ood-he", method=OOD_HE, outliers=OUTLIERS)


def outlier_entropy() -> Recipe:
    """The control: networks that doubt outliers, without any repulsion."""
    method = replace(OOD_HE, gamma=0.0, gamma_ood=0.0)
    return replace(ENSEMBLE, name="cifar10-resnet18/outlier-entropy", method=method, outliers=OUTLIERS)


def ensemble_ood_he_auto() -> Recipe:
    """The same with every setting at hecka's default: repulsion as strong as the data allow."""
    return replace(
        ENSEMBLE, name="cifar10-resnet18/ensemble-ood-he-auto", method=RepulsiveSettings(), outliers=OUTLIERS
    )


ROWS = (
    ddu,
    ensemble,
    svgd_rbf,
    svgd_cka,
    svgd_he,
    ensemble_he,
    ensemble_ood_he,
    outlier_entropy,
    ensemble_ood_he_auto,
)
