"""Costs over sizes: exponents are fitted rightly, every size is another problem; how long things take is not tested."""

import json

import pytest
import torch

from hecka import Ensemble, InputError, evaluate
from hecka.bench.curves import GROWING, Curve, Sizes, curves, exponent, table
from hecka.bench.measure import peak_memory
from hecka.diversity.terms import HECKA

CPU = torch.device("cpu")


@pytest.mark.parametrize("power", [0.0, 1.0, 2.5])
def test_the_exponent_of_a_power_is_found_where_it_dominates(power):
    sizes = [1, 10, 100, 1000, 10_000, 100_000]
    assert exponent(sizes, [3.0 * size**power for size in sizes]) == pytest.approx(power)
    assert exponent(sizes, [7.0, 7.0, 7.0, *(size**power for size in sizes[3:])]) == pytest.approx(power)


def test_a_problem_has_the_sizes_that_it_says():
    problem = Sizes(members=3, batch=9, layers=4, features=11).problem()
    batch, ensemble = problem.batch(CPU), problem.ensemble(CPU)
    logits, features = ensemble(batch.inputs)
    assert logits.shape == (3, 9, 10)
    assert [each.shape for each in features.values()] == [(3, 9, 11)] * 4


def test_the_table_has_both_exponents_and_what_is_allowed():
    sizes = (1, 2, 4, 8)
    made = Curve(
        "layers", sizes, {"plain": [1, 2, 4, 8], "HE-CKA": [2, 4, 8, 16]}, {"plain": [5] * 4, "HE-CKA": [6] * 4}
    )
    cells = [cell.strip() for cell in table([made]).splitlines()[2].split("|")[1:-1]]
    assert cells == [
        "layers: 1 to 8",
        *("2.0 to 16.0 ms", "2.00", "1.00", "1.00", "1"),
        *("6.0 to 6.0 MiB", "1.20", "0.00", "0.00", "1"),
    ]


def test_the_command_writes_a_picture_and_its_numbers(tmp_path, monkeypatch):
    monkeypatch.setitem(GROWING, "layers", (1, 2))  # the least that have a slope
    printed = curves(repeats=1, only=("layers",), out=tmp_path / "new")
    (made,) = json.loads((tmp_path / "new" / "cost-curves.json").read_text())["curves"]
    assert (made["sizes"], set(made["milliseconds"])) == ([1, 2], {"plain", "HE-CKA"})
    assert (tmp_path / "new" / "cost-curves.png").stat().st_size > 10_000
    assert "layers: 1 to 2" in printed


@pytest.mark.parametrize("settings", [{"repeats": 0}, {"only": ("width",)}])
def test_what_cannot_be_measured_is_refused(settings, tmp_path):
    with pytest.raises(InputError, match="expected repeats >= 1 and some of members, batch"):
        curves(out=tmp_path, **settings)


def test_pairs_of_members_take_no_memory_of_their_own():
    """Features and Gram matrices grow with members; M^2 matrices of N^2 numbers would be 16 times as many, not 4."""

    def action(members):
        features = {"fc": torch.randn(members, 64, 8, requires_grad=True)}
        return lambda: HECKA()(features).backward()

    few, many = (peak_memory(action(members), CPU) for members in (8, 32))
    assert many < 4.2 * few


def test_evaluation_holds_a_few_numbers_an_example_however_large_the_inputs():
    """Exact detection needs every score; inputs, logits and features stream."""
    ensemble = Ensemble(lambda: torch.nn.Linear(1000, 10), 3)

    def action(batches):
        def stream():
            for _ in range(batches):
                yield torch.zeros(100, 1000), torch.zeros(100, dtype=torch.long)

        return lambda: evaluate(ensemble, stream())

    few, many = (peak_memory(action(batches), CPU) for batches in (5, 45))
    assert many - few < 4000 * 100  # bytes: 4000 more examples; their inputs alone are 16 million
