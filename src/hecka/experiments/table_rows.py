"""Which rows each of the paper's tables has, in its order, and which recipe makes each.

Two rows that the paper leaves out stand in every table: entropy on made-up outliers alone (no diversity, the control
that shows what the energy itself is worth), and ``gamma="auto"``, which needs no setting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hecka.errors import InputError, nearest
from hecka.experiments import published
from hecka.experiments.published import Published

OUTLIER_ENTROPY = "Outlier entropy alone (gamma 0)"
AUTO_GAMMA = 'Ensemble+OOD HE-CKA, gamma="auto"'


@dataclass(frozen=True)
class TableRow:
    """One method of a table: its name there, its recipe, and the folder of its runs (the recipe's own name when empty).

    ``members`` is set where the row differs from its recipe in the count of members alone.
    """

    name: str
    recipe: str
    folder: str = ""
    members: int | None = None

    @property
    def slug(self) -> str:
        """What ``--rows`` and the folder call it.

        >>> TableRow("SVGD+RBF", "dirty-mnist/svgd-rbf").slug
        'svgd-rbf'
        """
        return self.folder or self.recipe.rpartition("/")[2]


@dataclass(frozen=True)
class TableSpec:
    """A table: its rows, the outlier sets and scores that are its columns, and what the paper printed.

    ``nll`` says which of the two the paper's column holds (see ``published``), ``notes`` what stands under the table,
    ``only`` which columns it has where those are not all.
    """

    name: str
    title: str
    rows: tuple[TableRow, ...]
    outliers: tuple[str, ...]
    published: Published
    nll: str = "nll_of_mean"
    scores: tuple[str, ...] = ("entropy", "mutual_information")
    notes: tuple[str, ...] = ()
    only: tuple[str, ...] = ()

    def choose(self, slugs: Sequence[str]) -> tuple[TableRow, ...]:
        """The rows that ``--rows`` names, in the table's order; all when it names none."""
        known = [row.slug for row in self.rows]
        for slug in slugs:
            if slug not in known:
                raise InputError(f"{self.name}: no row is called {slug!r}; {nearest(slug, known)}")
        return tuple(row for row in self.rows if not slugs or row.slug in slugs)


def _rows(family: str, named: dict[str, str]) -> tuple[TableRow, ...]:
    """Rows of one family of recipes, name -> recipe, with the two that stand in every table."""
    added = {OUTLIER_ENTROPY: "outlier-entropy", AUTO_GAMMA: "ensemble-ood-he-auto"}
    return tuple(TableRow(name, f"{family}/{recipe}") for name, recipe in {**named, **added}.items())


DIRTY_MNIST = TableSpec(
    name="table-dirty-mnist",
    title="Dirty-MNIST against Fashion-MNIST, LeNet5, 5 members",
    rows=_rows(
        "dirty-mnist",
        {
            "DDU": "ddu",
            "Single": "single",
            "Ensemble": "ensemble",
            "SVGD+RBF": "svgd-rbf",
            "SVGD+CKA": "svgd-cka",
            "SVGD+HE-CKA": "svgd-he",
            "Hypernet": "hypernet",
            "Hypernet+OOD HE-CKA": "hypernet-ood-he",
            "Ensemble+HE-CKA": "ensemble-he",
            "Ensemble+OOD HE-CKA": "ensemble-ood-he",
        },
    ),
    outliers=("fashion-mnist",),
    published=published.DIRTY_MNIST,
)

CIFAR10_RESNET32 = TableSpec(
    name="table-cifar10-resnet32",
    title="CIFAR-10 against SVHN, ResNet32 without normalisation, 10 members",
    rows=_rows(
        "cifar10-resnet32",
        {
            "SVGD+RBF": "svgd-rbf",
            "fSVGD+RBF": "fsvgd-rbf",
            "kde-WGD+RBF": "kde-wgd-rbf",
            "sge-WGD+RBF": "sge-wgd-rbf",
            "kde-fWGD+RBF": "kde-fwgd-rbf",
            "sge-fWGD+RBF": "sge-fwgd-rbf",
            "Ensemble": "ensemble",
            "SVGD+HE-CKA": "svgd-he",
            "SVGD+CKA": "svgd-cka",
            "DDU": "ddu",
            "Ensemble+OOD HE-CKA": "ensemble-ood-he",
            "Hypernet+OOD HE-CKA": "hypernet-ood-he",
        },
    ),
    outliers=("svhn",),
    published=published.CIFAR10_RESNET32,
    notes=(
        "The paper quotes its first seven rows from D'Angelo & Fortuin (2021); their ECE has 30 bins, ours 15, and "
        "their MI is the spread of the members' probabilities.",
    ),
)

CIFAR10_RESNET18 = TableSpec(
    name="table-cifar10-resnet18",
    title="CIFAR-10 against SVHN, ResNet18, 5 members",
    rows=_rows(
        "cifar10-resnet18",
        {
            "DDU (WideResNet28-10+SN)": "ddu",
            "Ensemble": "ensemble",
            "SVGD+RBF": "svgd-rbf",
            "SVGD+CKA": "svgd-cka",
            "SVGD+HE-CKA": "svgd-he",
            "Ensemble+HE-CKA": "ensemble-he",
            "Ensemble+OOD HE-CKA": "ensemble-ood-he",
        },
    ),
    outliers=("svhn",),
    published=published.CIFAR10_RESNET18,
    nll="nll",
)

CIFAR100 = TableSpec(
    name="table-cifar100",
    title="CIFAR-100 against SVHN, ResNet18, 5 members",
    rows=_rows(
        "cifar100",
        {"Ensemble": "ensemble", "Ensemble+HE-CKA": "ensemble-he", "Ensemble+OOD HE-CKA": "ensemble-ood-he"},
    ),
    outliers=("svhn",),
    published=published.CIFAR100,
    nll="nll",
)

TINY_IMAGENET = TableSpec(
    name="table-tinyimagenet",
    title="TinyImageNet, ResNet18, 5 members, fine-tuned from one plain ensemble",
    rows=_rows(
        "tinyimagenet",
        {
            "Ensemble": "ensemble",
            "SVGD+RBF": "svgd-rbf",
            "SVGD+CKA": "svgd-cka",
            "SVGD+HE-CKA": "svgd-he",
            "Ensemble+HE-CKA": "ensemble-he",
            "Ensemble+OOD HE-CKA": "ensemble-ood-he",
        },
    ),
    outliers=("svhn", "cifar10", "cifar100", "dtd"),
    published=published.TINY_IMAGENET,
)

PARTICLES = TableSpec(
    name="table-particles",
    title="TinyImageNet, ResNet18 with HE-CKA, 2 to 5 members",
    rows=tuple(
        TableRow(f"{count} particles", "tinyimagenet/ensemble-he", f"particles-{count}", count) for count in range(2, 6)
    ),
    outliers=("svhn", "cifar10", "cifar100", "dtd"),
    published=published.PARTICLES,
    notes=('For 2 particles the paper prints one number under "CIFAR-10/CIFAR-100"; it stands under CIFAR-10 here.',),
)
