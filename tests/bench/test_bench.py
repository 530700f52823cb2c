"""The benchmark measures what it says; how long things take is not tested."""

import time

import pytest
import torch

from hecka import InputError
from hecka.bench.measure import interleaved, peak_memory
from hecka.bench.table import bench

CPU = torch.device("cpu")


def test_alternatives_take_turns_and_warm_up_rounds_do_not_count():
    order = []
    times = interleaved({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, 2, CPU, warmup=1)
    assert order == ["a", "b"] * 3
    assert times.keys() == {"a", "b"}


def test_times_are_medians():
    pauses = iter([0.0, 0.2, 0.0])
    assert interleaved({"a": lambda: time.sleep(next(pauses))}, 3, CPU, warmup=0)["a"] < 0.1


@pytest.mark.parametrize("held", [1, 3])
def test_peak_memory_counts_what_is_held_at_once(held):
    def action():
        blocks = [torch.empty(2**20, dtype=torch.uint8) for _ in range(held)]
        del blocks
        torch.empty(2**19, dtype=torch.uint8)

    assert peak_memory(action, CPU) == held * 2**20


@pytest.mark.slow
def test_the_table_has_a_line_a_target():
    header, _, *lines = bench(repeats=1).splitlines()
    assert "cpu" in header
    assert [line for line in lines if "30 members" in line]
    assert [line for line in lines if "peak memory" in line]


def test_a_benchmark_without_rounds_is_refused():
    with pytest.raises(InputError, match="at least 1 round"):
        bench(repeats=0)
