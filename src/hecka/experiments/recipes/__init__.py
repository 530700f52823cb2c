"""Every recipe by name: one module a table, one function a row.

Rows of a table share data, seeds, budget and optimizer, but where the paper has another one for a method.
"""

from __future__ import annotations

from collections.abc import Callable

from hecka.errors import InputError, nearest
from hecka.experiments.recipe import Recipe
from hecka.experiments.recipes import (
    cifar10_resnet18,
    cifar10_resnet32,
    cifar100,
    digits,
    digits_methods,
    dirty_mnist,
    tinyimagenet,
)

RECIPES: dict[str, Callable[[], Recipe]] = {
    f"{family}/{row.__name__.replace('_', '-')}": row
    for family, rows in (
        ("dirty-mnist", dirty_mnist.ROWS),
        ("cifar10-resnet32", cifar10_resnet32.ROWS),
        ("cifar10-resnet18", cifar10_resnet18.ROWS),
        ("cifar100", cifar100.ROWS),
        ("tinyimagenet", tinyimagenet.ROWS),
        ("digits", (*digits.ROWS, *digits_methods.ROWS)),
    )
    for row in rows
}


def names() -> tuple[str, ...]:
    """All recipes, table by table.

    >>> names()[:3]
    ('dirty-mnist/ddu', 'dirty-mnist/single', 'dirty-mnist/ensemble')
    """
    return tuple(RECIPES)


def find(name: str) -> Recipe:
    """The recipe of that name.

    >>> find("dirty-mnist/ensemble").epochs
    50
    """
    if name not in RECIPES:
        raise InputError(f"recipe: none is called {name!r}; {nearest(name, RECIPES)}")
    return RECIPES[name]()


def about(name: str) -> str:
    """One line on a recipe.

    >>> about("dirty-mnist/single")
    'One network.'
    """
    return (RECIPES[name].__doc__ or "").partition("\n")[0]
