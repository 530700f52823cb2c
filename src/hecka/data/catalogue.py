"""Every data set that hecka knows by name."""

from __future__ import annotations

from hecka.data import colour_sets, grey_sets
from hecka.data.dataset import DataSet
from hecka.errors import InputError, nearest

CATALOGUE: dict[str, DataSet] = {
    dataset.name: dataset
    for dataset in (
        grey_sets.MNIST,
        grey_sets.FASHION_MNIST,
        grey_sets.KMNIST,
        grey_sets.NOT_MNIST,
        grey_sets.AMBIGUOUS_MNIST,
        grey_sets.DIRTY_MNIST,
        grey_sets.SURROGATE_AMBIGUOUS_MNIST,
        grey_sets.SURROGATE_DIRTY_MNIST,
        grey_sets.DIGITS,
        colour_sets.CIFAR10,
        colour_sets.CIFAR100,
        colour_sets.SVHN,
        colour_sets.TINY_IMAGENET,
        colour_sets.TEXTURES,
    )
}


def names() -> tuple[str, ...]:
    """All sets, in the order of the catalogue.

    >>> names()[:3]
    ('mnist', 'fashion-mnist', 'kmnist')
    """
    return tuple(CATALOGUE)


def find(name: str) -> DataSet:
    """The entry of that name.

    >>> find("cifar10").shape
    (3, 32, 32)
    """
    if name not in CATALOGUE:
        raise InputError(f"data: no set is called {name!r}; {nearest(name, CATALOGUE)}, 'folder:PATH', 'npz:PATH'")
    return CATALOGUE[name]


def describe(name: str) -> dict[str, str]:
    """What there is to know of a set, as lines of a table.

    >>> describe("mnist")["images"]
    '60 000 train, 10 000 test, each 1 x 28 x 28'
    """
    dataset = find(name)
    return {
        "title": dataset.title,
        "about": dataset.about,
        "images": ", ".join(f"{spaced(count)} {split}" for split, count in dataset.sizes.items())
        + f", each {' x '.join(map(str, dataset.shape))}",
        "classes": ", ".join(dataset.classes) or f"the lines of {dataset.class_list}",
        "whitening": f"mean {dataset.whitening.mean}, std {dataset.whitening.std}",
        "download": "; ".join(
            [download_size(dataset), *(f"made by `{part.made_by}`" for part in dataset.whole_parts if part.made_by)]
        ),
        "licence": dataset.licence,
        "citation": dataset.citation,
    }


def download_size(dataset: DataSet) -> str:
    """What has to come over the net.

    >>> download_size(find("mnist")), download_size(find("ambiguous-mnist")), download_size(find("digits"))
    ('11.6 MB', 'of unknown size', 'none')
    """
    sizes = [file.size for file in dataset.files if file.urls]
    known = [f"{sum(size for size in sizes if size) / 1e6:.1f} MB"] if any(sizes) else []
    if None in sizes:
        known.append("files of unknown size" if known else "of unknown size")
    return ", and ".join(known) or "none"


def spaced(count: int) -> str:
    """A count with its thousands apart.

    >>> spaced(26032)
    '26 032'
    """
    return f"{count:,}".replace(",", " ")
