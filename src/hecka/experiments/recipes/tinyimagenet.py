"""TinyImageNet against SVHN, CIFAR and textures: ResNet18, fine-tuned for 30 epochs from one plain ensemble.

First ``hecka train tinyimagenet/pretrained --out RUN``, then any row with ``--start-from RUN``.  Fewer members than
there take the weights of the first ones.  The energy has the settings of CIFAR-10, as its own are not published; the
test set is the official validation set, and a tenth of the training set validates, where the paper splits 80:10:10.
"""

from __future__ import annotations

from dataclasses import replace

from hecka.experiments.methods import IndependentSettings
from hecka.experiments.recipe import DataSettings, OptimizerSettings, Recipe
from hecka.experiments.recipes import cifar10_resnet18

PRETRAINED = replace(
    cifar10_resnet18.ENSEMBLE,
    name="tinyimagenet/pretrained",
    data=DataSettings("tinyimagenet", augment=True),
    method=IndependentSettings(),
    ood=("svhn", "cifar10", "cifar100", "dtd"),
)


def pretrained() -> Recipe:
    """The plain ensemble that all rows go on from."""
    return PRETRAINED


def ensemble() -> Recipe:
    """Five networks, each as if it were alone."""
    return _fine_tuned(cifar10_resnet18.ensemble())


def svgd_rbf() -> Recipe:
    """SVGD, compared by distance of weights."""
    return _fine_tuned(cifar10_resnet18.svgd_rbf())


def svgd_cka() -> Recipe:
    """SVGD, compared by CKA."""
    return _fine_tuned(cifar10_resnet18.svgd_cka())


def svgd_he() -> Recipe:
    """SVGD, compared by hyperspherical energy of CKA."""
    return _fine_tuned(cifar10_resnet18.svgd_he())


def ensemble_he() -> Recipe:
    """Networks that repel each other on the data."""
    return _fine_tuned(cifar10_resnet18.ensemble_he())


def ensemble_ood_he() -> Recipe:
    """Networks that repel each other on the data and on outliers, and doubt outliers."""
    return _fine_tuned(cifar10_resnet18.ensemble_ood_he())


def outlier_entropy() -> Recipe:
    """The control: networks that doubt outliers, without any repulsion."""
    return _fine_tuned(cifar10_resnet18.outlier_entropy())


def ensemble_ood_he_auto() -> Recipe:
    """The same with every setting at hecka's default: repulsion as strong as the data allow."""
    return _fine_tuned(cifar10_resnet18.ensemble_ood_he_auto())


ROWS = (
    pretrained,
    ensemble,
    svgd_rbf,
    svgd_cka,
    svgd_he,
    ensemble_he,
    ensemble_ood_he,
    outlier_entropy,
    ensemble_ood_he_auto,
)


def _fine_tuned(recipe: Recipe) -> Recipe:
    """The row of CIFAR-10 on TinyImageNet, from trained weights."""
    row = recipe.name.partition("/")[2]
    return replace(
        recipe,
        name=f"tinyimagenet/{row}",
        data=PRETRAINED.data,
        optimizer=OptimizerSettings("sgd", lr=0.005, weight_decay=5e-4, decay_all=True),
        epochs=30,
        continues=PRETRAINED.name,
        ood=PRETRAINED.ood,
    )
