"""scikit-learn's 8 x 8 digits: a real benchmark in seconds, with nothing to download.

Five small perceptrons; outliers to find are the test set with black and white swapped, and with its pixels shuffled.
Repulsion has the settings of Dirty-MNIST, but for weights that grow linearly over the layers.
"""

from __future__ import annotations

from dataclasses import replace

from hecka.experiments.methods import IndependentSettings, RepulsiveSettings, TermSettings
from hecka.experiments.recipe import DataSettings, NetworkSettings, OptimizerSettings, Recipe

OUTLIERS = 50
TERM = TermSettings(centering="one-sided")

ENSEMBLE = Recipe(
    name="digits/ensemble",
    data=DataSettings("digits"),
    network=NetworkSettings("mlp", channels_last=False),
    method=IndependentSettings(),
    optimizer=OptimizerSettings("adamw", lr=0.0065, weight_decay=0.001, warmup=0.1),
    epochs=60,
    batch_size=100,
    clip=5.0,
    ood=("inverted", "shuffled"),
)


def ensemble() -> Recipe:
    """Five networks, each as if it were alone."""
    return ENSEMBLE


def ensemble_he() -> Recipe:
    """Networks that repel each other on the data."""
    method = RepulsiveSettings(TERM, gamma=6.35, beta_in=1.0, warmup=50)
    return replace(ENSEMBLE, name="digits/ensemble-he", method=method)


OOD_HE = RepulsiveSettings(TERM, gamma=0.25, gamma_ood=1.25, beta=1.5, beta_in=1.0, warmup=50)


def ensemble_ood_he() -> Recipe:
    """Networks that repel each other on the data and on outliers, and doubt outliers."""
    return replace(ENSEMBLE, name="digits/ensemble-ood-he", method=OOD_HE, outliers=OUTLIERS)


def outlier_entropy() -> Recipe:
    """The control: networks that doubt outliers, without any repulsion."""
    method = replace(OOD_HE, gamma=0.0, gamma_ood=0.0)
    return replace(ENSEMBLE, name="digits/outlier-entropy", method=method, outliers=OUTLIERS)


def ensemble_ood_he_auto() -> Recipe:
    """The same with every setting at hecka's default: repulsion as strong as the data allow."""
    return replace(ENSEMBLE, name="digits/ensemble-ood-he-auto", method=RepulsiveSettings(), outliers=OUTLIERS)


ROWS = (ensemble, ensemble_he, ensemble_ood_he, outlier_entropy, ensemble_ood_he_auto)
