"""The benchmark measures what it says, and both sides do the same work; how long things take is not tested."""

import json
import time
from dataclasses import replace

import pytest
import torch

from hecka import InputError
from hecka.bench import beside
from hecka.bench.comparison import Comparison, Imports, Measured, Peaks, Times
from hecka.bench.comparisons import COMPARISONS
from hecka.bench.measure import enough_rounds, interleaved, peak_memory
from hecka.bench.plain_networks import PlainLeNet, PlainMLP, crater
from hecka.bench.steps import LENET, TOY, members_step, separate_step, step
from hecka.bench.table import Line, bench, choose
from hecka.inference.independent import Independent
from hecka.networks import activations

CPU = torch.device("cpu")


def test_alternatives_take_turns_and_warm_up_rounds_do_not_count():
    order = []
    times = interleaved({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, 2, CPU, warmup=1)
    assert order == ["a", "b"] * 3
    assert times.keys() == {"a", "b"}


def test_times_are_medians():
    pauses = iter([0.0, 0.2, 0.0])
    assert interleaved({"a": lambda: time.sleep(next(pauses))}, 3, CPU, warmup=0)["a"] < 0.1


@pytest.mark.parametrize(("pause", "rounds"), [(0.0, 200), (0.6, 3)], ids=["short", "long"])
def test_short_rounds_are_repeated_more_often(pause, rounds):
    assert enough_rounds({"a": lambda: time.sleep(pause)}, 3, CPU) == rounds


@pytest.mark.parametrize("held", [1, 3])
def test_peak_memory_counts_what_is_held_at_once(held):
    def action():
        blocks = [torch.empty(2**20, dtype=torch.uint8) for _ in range(held)]
        del blocks
        torch.empty(2**19, dtype=torch.uint8)

    assert peak_memory(action, CPU) == held * 2**20


def test_what_an_action_left_and_releases_again_makes_room_for_the_next():
    kept = []

    def action():
        kept.clear()
        kept.append(torch.empty(2**20, dtype=torch.uint8))
        torch.empty(2**19, dtype=torch.uint8)

    assert [peak_memory(action, CPU) for _ in range(3)] == [2**19] * 3


def allocate(megabytes):
    return lambda device: lambda: torch.empty(megabytes * 2**20, dtype=torch.uint8)


def pause(seconds):
    return lambda device: lambda: time.sleep(seconds)


def test_a_ratio_is_ours_over_theirs():
    result = Peaks(allocate(3), allocate(2))(1, CPU)
    assert (result.ours, result.theirs, result.unit, result.ratio) == (3, 2, "MiB", 1.5)
    assert 0.05 < Times(pause(0.01), pause(0.1))(3, CPU).ratio < 0.5
    assert 0.05 < Times(pause(0.04), pause(0.1), steps=4)(3, CPU).ratio < 0.3
    assert 0.05 < Times(pause(0.01), 0.1)(3, CPU).ratio < 0.5


def test_the_middle_half_of_the_rounds_is_told():
    ratios = (5.0, 1.0, 2.0, 3.0, 4.0)
    assert Measured(3.0, 1.0, "ms", ratios).middle_half == (1.5, 4.5)
    assert Measured(3.0, 1.0, "MiB", (3.0,)).middle_half == (3.0, 3.0)


def test_an_import_takes_longer_than_what_it_imports():
    result = Imports("hecka.errors", "json")(1, CPU)
    assert result.ours > result.theirs > 0
    with pytest.raises(InputError, match="no_such_module"):
        Imports("no_such_module", "json")(1, CPU)


def test_names_are_unique_and_a_mistyped_one_is_refused():
    names = [each.name for each in COMPARISONS]
    assert len(set(names)) == len(names)
    with pytest.raises(InputError, match="toy"):
        bench(only=["toyy"])


def test_what_runs_in_one_place_alone_is_left_out_elsewhere_unless_asked_for():
    on_cpu, on_cuda, elsewhere = (
        {each.name for each in choose([], torch.device(on))} for on in ("cpu", "cuda", "meta")
    )
    assert on_cpu - elsewhere == {"import", "scores"}
    assert {name.partition("-")[0] for name in on_cuda - elsewhere} == {"captured"}
    assert elsewhere <= on_cpu & on_cuda
    assert [each.name for each in choose(["scores", "toy"], torch.device("meta"))] == ["toy", "scores"]


def test_a_comparison_that_cannot_run_costs_the_others_nothing(monkeypatch, tmp_path):
    def broken(device):
        raise RuntimeError("no such kernel")

    rows = (
        Comparison("bad", "a step", "another", 1.0, Times(broken, 1.0)),
        Comparison("good", "a block", "a smaller one", 1.2, Peaks(allocate(3), allocate(2))),
    )
    monkeypatch.setattr("hecka.bench.table.COMPARISONS", rows)
    told = []
    table = bench(repeats=1, out=tmp_path / "new" / "bench.json", tell=told.append).splitlines()
    assert told == ["bad: failed: RuntimeError: no such kernel (target 1.00)", "good: 1.50 (target 1.20)"]
    assert "failed: RuntimeError: no such kernel" in table[4]
    assert [cell.strip() for cell in table[5].split("|")[3:9]] == [
        "3.0 MiB",
        "2.0 MiB",
        "1.50",
        "1.50 to 1.50",
        "1.20",
        "no",
    ]
    bad, good = json.loads((tmp_path / "new" / "bench.json").read_text())["rows"]
    assert bad["failed"] == "RuntimeError: no such kernel"
    assert (good["ratio"], good["met"], good["target"]) == (1.5, False, 1.2)


def test_a_device_with_memory_of_its_own_has_two_more_columns():
    row = Comparison("a", "a", "b", 1.0, Times(pause(0), 1.0))
    without, peaks = Measured(1.0, 2.0, "ms", (0.5,)), Measured(1.0, 2.0, "ms", (0.5,), (10.0, None))
    assert Line(row, peaks).cells(memory=True) == [*Line(row, without).cells(memory=False), "10.0", "-"]
    assert len(Line(row, failure="why").cells(memory=True)) == len(Line(row, peaks).cells(memory=True))


def test_the_textbook_energy_is_the_energy():
    torch.manual_seed(0)
    ours, theirs = beside.term_alone(CPU)(), beside.textbook_term(CPU)()
    assert len(ours) == LENET.members * len(LENET.taps)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3 * float(other.abs().max()))


def test_the_grid_by_pairs_is_the_grid(monkeypatch):
    """In float64: in float32 the sums of the pair by pair form cost it three digits, those of the grid none."""
    singles = beside._features(beside.GRID_BATCH, CPU)
    doubles = {tap: tuple(one.double() for one in each) for tap, each in singles.items()}
    monkeypatch.setattr(beside, "_features", lambda examples, device: doubles)
    torch.testing.assert_close(beside.grid(CPU)().flatten(2).flatten(0, 1), beside.grid_by_pairs(CPU)())
    expected = beside.grid(CPU)().float()
    monkeypatch.setattr(beside, "_features", lambda examples, device: singles)
    torch.testing.assert_close(beside.grid(CPU)().float(), expected, rtol=1e-4, atol=1e-5)


def test_separate_modules_answer_like_the_ensemble(monkeypatch):
    monkeypatch.setattr(beside, "IMAGES", 2500)  # two batches and a part
    small = replace(LENET, members=2)
    ours, theirs = beside.answers(small, CPU)().logits, beside.separate_answers(small, CPU)()
    assert ours.shape == theirs.shape == (2, beside.IMAGES, 10)


@pytest.mark.parametrize("make", [step, separate_step])
def test_a_step_moves_the_weights(make, monkeypatch):
    moved = []
    original = torch.optim.AdamW.step
    monkeypatch.setattr(torch.optim.AdamW, "step", lambda self: moved.append(original(self)))
    (step(TOY, Independent(), CPU) if make is step else separate_step(TOY, CPU))()
    assert len(moved) == (1 if make is step else TOY.members)


def test_a_step_is_the_one_that_fit_makes():
    ensemble, batch = TOY.ensemble(CPU), TOY.batch(CPU)
    before = [each.clone() for each in ensemble.parameters()]
    members_step(ensemble, Independent(), batch)()
    assert all((old != new).any() for old, new in zip(before, ensemble.parameters(), strict=True))


def test_plain_networks_are_of_the_same_size_and_activation():
    for problem, plain in ((LENET, PlainLeNet()), (TOY, PlainMLP(2, 30, 40, 30, 4))):
        shapes = [sorted(tuple(each.shape) for each in net.parameters()) for net in (problem.make_net(), plain)]
        assert shapes[0] == shapes[1]
    x = torch.linspace(-5, 5, 101, dtype=torch.float64)
    torch.testing.assert_close(crater(x), activations.crater(x))


@pytest.mark.slow
def test_the_table_has_a_line_a_target():
    names = ["lenet-ood", "toy", "toy-own", "svgd-he", "svgd-rbf", "hypernetwork", "memory-lenet", "outliers", "scores"]
    header, _, *lines = bench(repeats=1, only=names).splitlines()
    assert "cpu" in header
    assert len(lines) == 2 + len(names)
    assert not [line for line in lines if "failed" in line]
    assert [line for line in lines if "30 members" in line]
    assert [line for line in lines if "peak memory" in line]


def test_a_benchmark_without_rounds_is_refused():
    with pytest.raises(InputError, match="at least 1 round"):
        bench(repeats=0)
