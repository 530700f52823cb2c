"""Every other method by name, on scikit-learn's digits: where each can be tried in seconds.

Data, network, optimizer and steps are those of ``digits/ensemble``.  Particles follow the whole posterior: the training
set's size times the mean loss, and the networks' own distribution N(0, 1) as prior.  Their gradients are as many times
larger, so that no bound fits both; and a decay of weights beside a prior would count it twice.  SVGD on features has
the settings of Dirty-MNIST, and as there the mean loss alone.
"""

from __future__ import annotations

from dataclasses import replace

from hecka.experiments.methods import (
    IndependentSettings,
    InputGradientsSettings,
    ParticleSettings,
    PenalisedSettings,
    RepulsiveSettings,
)
from hecka.experiments.recipe import HypernetworkSettings, MembersSettings, Recipe
from hecka.experiments.recipes.digits import ENSEMBLE, OOD_HE, OUTLIERS, TERM
from hecka.inference.particles import Space
from hecka.inference.score_estimators import Estimator

CKA = replace(TERM, energy="cka")


def single() -> Recipe:
    """One network."""
    return replace(ENSEMBLE, name="digits/single", members=MembersSettings(1))


def ddu() -> Recipe:
    """One network with bounded layers, and the density of its features before the last layer."""
    return replace(
        ENSEMBLE,
        name="digits/ddu",
        network=replace(ENSEMBLE.network, spectral_bound=3.0),
        members=MembersSettings(1, density="1.layers.1"),
    )


def ensemble_cka() -> Recipe:
    """Networks that lower their plain CKA on the data."""
    return replace(ENSEMBLE, name="digits/ensemble-cka", method=RepulsiveSettings(CKA, gamma=6.35, beta_in=1.0))


def ensemble_last_layer() -> Recipe:
    """Networks that repel each other by their answers alone, the last layer's features."""
    network = replace(ENSEMBLE.network, taps=("1.layers.2",))
    return replace(ENSEMBLE, name="digits/ensemble-last-layer", network=network, method=RepulsiveSettings())


def input_gradients() -> Recipe:
    """Networks that repel each other by their input gradients (FoRDE)."""
    return replace(ENSEMBLE, name="digits/input-gradients", method=InputGradientsSettings())


def svgd_cka() -> Recipe:
    """SVGD, compared by CKA."""
    return replace(ENSEMBLE, name="digits/svgd-cka", method=ParticleSettings("svgd", term=CKA))


def svgd_he() -> Recipe:
    """SVGD, compared by hyperspherical energy of CKA."""
    term = replace(TERM, eps_dist=5e-5, eps_arc=0.165)
    return replace(ENSEMBLE, name="digits/svgd-he", method=ParticleSettings("svgd", term=term))


def svgd_rbf() -> Recipe:
    """SVGD, compared by distance of weights."""
    return _svgd("svgd-rbf", "weights")


def fsvgd_rbf() -> Recipe:
    """SVGD on functions, compared by distance of logits."""
    return _svgd("fsvgd-rbf", "logits")


def kde_wgd_rbf() -> Recipe:
    """WGD with a kernel density estimate."""
    return _wgd("kde-wgd-rbf", "kde", "weights")


def sge_wgd_rbf() -> Recipe:
    """WGD with Stein's estimator."""
    return _wgd("sge-wgd-rbf", "sge", "weights")


def ssge_wgd_rbf() -> Recipe:
    """WGD with the spectral estimator."""
    return _wgd("ssge-wgd-rbf", "ssge", "weights")


def kde_fwgd_rbf() -> Recipe:
    """WGD on functions with a kernel density estimate."""
    return _wgd("kde-fwgd-rbf", "kde", "logits")


def sge_fwgd_rbf() -> Recipe:
    """WGD on functions with Stein's estimator."""
    return _wgd("sge-fwgd-rbf", "sge", "logits")


def ssge_fwgd_rbf() -> Recipe:
    """WGD on functions with the spectral estimator."""
    return _wgd("ssge-fwgd-rbf", "ssge", "logits")


HYPERNET = replace(
    ENSEMBLE,
    name="digits/hypernet",
    members=MembersSettings(5, HypernetworkSettings()),
    method=IndependentSettings(),
    optimizer=replace(ENSEMBLE.optimizer, lr=0.0024),
)


def hypernet() -> Recipe:
    """Networks from a generator."""
    return HYPERNET


def hypernet_ood_he() -> Recipe:
    """Networks from a generator that repel each other, on outliers too, with a pull on the weights that it writes."""
    method = PenalisedSettings(OOD_HE, strength=0.0717)
    return replace(HYPERNET, name="digits/hypernet-ood-he", method=method, outliers=OUTLIERS)


ROWS = (
    single,
    ddu,
    ensemble_cka,
    ensemble_last_layer,
    input_gradients,
    svgd_rbf,
    fsvgd_rbf,
    svgd_cka,
    svgd_he,
    kde_wgd_rbf,
    sge_wgd_rbf,
    ssge_wgd_rbf,
    kde_fwgd_rbf,
    sge_fwgd_rbf,
    ssge_fwgd_rbf,
    hypernet,
    hypernet_ood_he,
)


def _svgd(row: str, space: Space) -> Recipe:
    return _posterior(row, ParticleSettings("svgd", space=space))


def _wgd(row: str, estimator: Estimator, space: Space) -> Recipe:
    return _posterior(row, ParticleSettings("wgd", estimator, space=space))


def _posterior(row: str, method: ParticleSettings) -> Recipe:
    """A particle method on the whole posterior."""
    return replace(
        ENSEMBLE,
        name=f"digits/{row}",
        method=replace(method, data_size="train", prior_std=1.0),
        optimizer=replace(ENSEMBLE.optimizer, weight_decay=0.0),
        clip=None,
    )
