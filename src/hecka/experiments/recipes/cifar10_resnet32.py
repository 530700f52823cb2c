"""CIFAR-10 against SVHN: ten ResNet32 without normalisation, after "Repulsive deep ensembles are Bayesian".

Raw pixels, no augmentation, Adam at a constant rate for 143 epochs (50 000 steps), and a Gaussian prior of deviation
1, but for methods on functions.
The table's own rate is not published; .001 is Adam's usual one.  The energy has the settings of CIFAR-10 with ResNet18,
with weights that grow linearly over the layers, as its own are not published either.

Particle methods follow the whole posterior: the training set's size times the mean loss, and the prior.  For the
others, and the score of the prior under Adam, the same prior is a decay of 1 / N.
"""

from __future__ import annotations

from dataclasses import replace

from hecka.experiments.methods import IndependentSettings, ParticleSettings, RepulsiveSettings, TermSettings
from hecka.experiments.recipe import (
    DataSettings,
    HypernetworkSettings,
    MembersSettings,
    NetworkSettings,
    OptimizerSettings,
    Recipe,
)

OUTLIERS = 48
MEMBERS = 10
N = 45_000
# Methods on functions draw networks from the prior.  Without normalisation, weights of deviation 1 overflow on the way
# through 31 convolutions; with .1, each layer keeps about the scale of its input.
DRAWN_STD = 0.1
TERM = TermSettings(kernel="linear", centering="one-sided", kind="exponential", eps_dist=0.001, eps_arc=0.001)

ENSEMBLE = Recipe(
    name="cifar10-resnet32/ensemble",
    data=DataSettings("cifar10", whiten=False),
    network=NetworkSettings("resnet32"),
    members=MembersSettings(MEMBERS),
    method=IndependentSettings(),
    # Adam adds its decay to the gradient of the mean loss, so that 1 / N is the prior's.
    optimizer=OptimizerSettings("adam", lr=1e-3, weight_decay=1 / N, decay_all=True, schedule="constant"),
    epochs=143,
    batch_size=128,
    ood=("svhn",),
    notes=("learning rate not published: .001",),
)


def svgd_rbf() -> Recipe:
    """SVGD, compared by distance of weights."""
    return _particles("svgd-rbf", ParticleSettings("svgd", prior_std=1.0))


def fsvgd_rbf() -> Recipe:
    """SVGD on functions, compared by distance of probabilities."""
    return _particles("fsvgd-rbf", ParticleSettings("svgd", space="softmax", prior_std=DRAWN_STD))


def kde_wgd_rbf() -> Recipe:
    """WGD with a kernel density estimate."""
    return _particles("kde-wgd-rbf", ParticleSettings("wgd", "kde", prior_std=1.0))


def sge_wgd_rbf() -> Recipe:
    """WGD with Stein's estimator."""
    return _particles("sge-wgd-rbf", ParticleSettings("wgd", "sge", prior_std=1.0))


def kde_fwgd_rbf() -> Recipe:
    """WGD on functions with a kernel density estimate."""
    return _particles("kde-fwgd-rbf", ParticleSettings("wgd", "kde", space="softmax", prior_std=DRAWN_STD))


def sge_fwgd_rbf() -> Recipe:
    """WGD on functions with Stein's estimator."""
    return _particles("sge-fwgd-rbf", ParticleSettings("wgd", "sge", space="softmax", prior_std=DRAWN_STD))


def ensemble() -> Recipe:
    """Ten networks, each as if it were alone."""
    return ENSEMBLE


def svgd_he() -> Recipe:
    """SVGD, compared by hyperspherical energy of CKA."""
    return _particles(
        "svgd-he", ParticleSettings("svgd", term=replace(TERM, eps_dist=1e-4, eps_arc=0.0075), prior_std=1.0)
    )


def svgd_cka() -> Recipe:
    """SVGD, compared by CKA."""
    return _particles("svgd-cka", ParticleSettings("svgd", term=replace(TERM, energy="cka"), prior_std=1.0))


def ddu() -> Recipe:
    """One network with bounded layers, and the density of its features."""
    return replace(
        ENSEMBLE,
        name="cifar10-resnet32/ddu",
        network=NetworkSettings("resnet32", spectral_bound=3.0),
        members=MembersSettings(1, density="pool"),
    )


OOD_HE = RepulsiveSettings(TERM, gamma=0.5, gamma_ood=0.75, beta=0.75, beta_in=float(MEMBERS), warmup=10)


def ensemble_ood_he() -> Recipe:
    """Networks that repel each other on the data and on outliers, and doubt outliers."""
    return replace(ENSEMBLE, name="cifar10-resnet32/ensemble-ood-he", method=OOD_HE, outliers=OUTLIERS)


def hypernet_ood_he() -> Recipe:
    """Networks from a generator that repel each other, on outliers too."""
    return replace(
        ENSEMBLE,
        name="cifar10-resnet32/hypernet-ood-he",
        members=MembersSettings(MEMBERS, HypernetworkSettings()),
        method=OOD_HE,
        outliers=OUTLIERS,
        epochs=180,
    )


def outlier_entropy() -> Recipe:
    """The control: networks that doubt outliers, without any repulsion."""
    method = replace(OOD_HE, gamma=0.0, gamma_ood=0.0)
    return replace(ENSEMBLE, name="cifar10-resnet32/outlier-entropy", method=method, outliers=OUTLIERS)


def ensemble_ood_he_auto() -> Recipe:
    """The same with every setting at hecka's default: repulsion as strong as the data allow."""
    return replace(
        ENSEMBLE, name="cifar10-resnet32/ensemble-ood-he-auto", method=RepulsiveSettings(), outliers=OUTLIERS
    )


ROWS = (
    svgd_rbf,
    fsvgd_rbf,
    kde_wgd_rbf,
    sge_wgd_rbf,
    kde_fwgd_rbf,
    sge_fwgd_rbf,
    ensemble,
    svgd_he,
    svgd_cka,
    ddu,
    ensemble_ood_he,
    hypernet_ood_he,
    outlier_entropy,
    ensemble_ood_he_auto,
)


def _particles(row: str, method: ParticleSettings) -> Recipe:
    """A particle method on the whole posterior; its prior stands in the method, not in the optimizer."""
    return replace(
        ENSEMBLE,
        name=f"cifar10-resnet32/{row}",
        method=replace(method, data_size="train"),
        optimizer=replace(ENSEMBLE.optimizer, weight_decay=0.0),
    )
