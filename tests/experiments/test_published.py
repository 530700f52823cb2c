"""The paper's numbers against what else is known of them, typed apart."""

import pytest

from hecka.experiments import published, table_cka, table_rows
from hecka.experiments.recipes import names

SPECS = [
    table_rows.DIRTY_MNIST,
    table_rows.CIFAR10_RESNET32,
    table_rows.CIFAR10_RESNET18,
    table_rows.CIFAR100,
    table_rows.TINY_IMAGENET,
    table_rows.PARTICLES,
    table_cka.spec(),
]

# Rounded by hand from the paper: NLL, accuracy, ECE, AUROC by PE and MI.
ROUNDED = {
    "DDU": (0.278, 82.18, 3.95, 94.17),
    "Single": (0.272, 82.30, 2.91, 65.94, 50.0),
    "Ensemble": (0.271, 83.92, 1.31, 86.10, 96.07),
    "SVGD+RBF": (0.304, 83.56, 3.18, 91.00, 98.08),
    "SVGD+CKA": (0.377, 82.35, 7.36, 89.20, 99.21),
    "SVGD+HE-CKA": (0.298, 83.88, 2.85, 94.38, 99.21),
    "Hypernet": (0.278, 81.16, 4.25, 46.39, 64.86),
    "Hypernet+OOD HE-CKA": (0.325, 82.40, 3.06, 98.07, 77.55),
    "Ensemble+HE-CKA": (0.306, 83.68, 3.17, 94.66, 98.87),
    "Ensemble+OOD HE-CKA": (0.277, 84.09, 1.71, 100.0, 99.74),
}


def test_dirty_mnist_is_as_printed():
    assert published.DIRTY_MNIST.keys() == ROUNDED.keys()
    for name, expected in ROUNDED.items():
        values = [number.value for number in published.DIRTY_MNIST[name].values()]
        assert values == pytest.approx(expected, abs=0.0055), name


def test_a_number_keeps_its_characters():
    number = published.CIFAR10_RESNET32["DDU"]["svhn/entropy"]
    assert number == (86.281, 0.020, "86.281 ± 0.020*")


def test_ratios_of_the_cost_table_are_those_of_its_times():
    for members in (5, 10):
        rows = {name: row for name, row in published.COST.items() if name.endswith(f", {members}")}
        base = rows[f"Deep Ensemble, {members}"]["milliseconds"].value
        assert len(rows) == 5
        for row in rows.values():
            assert row["ratio"].value == pytest.approx(row["milliseconds"].value / base, abs=0.0051)


def test_five_particles_are_the_ensemble_of_the_other_table():
    five, he = published.PARTICLES["5 particles"], published.TINY_IMAGENET["Ensemble+HE-CKA"]
    assert {key: number.value for key, number in five.items()} == {key: number.value for key, number in he.items()}


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_every_row_has_a_recipe_and_every_printed_row_a_place(spec):
    assert {row.recipe for row in spec.rows} <= set(names())
    printed = [row.name for row in spec.rows if row.name in spec.published]
    assert printed == list(spec.published)
    assert len({row.slug for row in spec.rows}) == len(spec.rows)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_every_printed_column_is_one_of_the_table(spec):
    from hecka.experiments.table_numbers import columns

    known = {column.key for column in columns(spec)}
    assert {key for row in spec.published.values() for key in row} <= known


@pytest.mark.parametrize("spec", [*SPECS[:5], SPECS[6]], ids=lambda spec: spec.name)
def test_the_control_and_automatic_gamma_stand_in_every_table(spec):
    assert [row.slug for row in spec.rows[-2:]] == ["outlier-entropy", "ensemble-ood-he-auto"]
