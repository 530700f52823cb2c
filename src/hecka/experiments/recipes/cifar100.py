"""CIFAR-100 against SVHN: the rows of CIFAR-10 with ResNet18, on a hundred classes."""

from __future__ import annotations

from dataclasses import replace

from hecka.experiments.recipe import Recipe
from hecka.experiments.recipes import cifar10_resnet18


def ensemble() -> Recipe:
    """Five networks, each as if it were alone."""
    return _on_cifar100(cifar10_resnet18.ensemble())


def ensemble_he() -> Recipe:
    """Networks that repel each other on the data."""
    return _on_cifar100(cifar10_resnet18.ensemble_he())


def ensemble_ood_he() -> Recipe:
    """Networks that repel each other on the data and on outliers, and doubt outliers."""
    return _on_cifar100(cifar10_resnet18.ensemble_ood_he())


def outlier_entropy() -> Recipe:
    """The control: networks that doubt outliers, without any repulsion."""
    return _on_cifar100(cifar10_resnet18.outlier_entropy())


def ensemble_ood_he_auto() -> Recipe:
    """The same with every setting at hecka's default: repulsion as strong as the data allow."""
    return _on_cifar100(cifar10_resnet18.ensemble_ood_he_auto())


ROWS = (ensemble, ensemble_he, ensemble_ood_he, outlier_entropy, ensemble_ood_he_auto)


def _on_cifar100(recipe: Recipe) -> Recipe:
    row = recipe.name.partition("/")[2]
    return replace(recipe, name=f"cifar100/{row}", data=replace(recipe.data, name="cifar100"))
