"""Pictures and tables."""

import csv
import io

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from hecka.report.bands import Band, bands
from hecka.report.entropy_maps import EntropyMap, entropy_maps
from hecka.report.heatmaps import HeatMap, heat_maps
from hecka.report.histograms import Histograms, histogram_panels, shares
from hecka.report.spheres import Spreading, spheres
from hecka.report.tables import comma_separated, latex, markdown, standard_error, with_error


def is_picture(path):
    return path.read_bytes().startswith(b"\x89PNG")


def test_a_picture_holds_any_number_of_panels(tmp_path):
    inputs, labels = torch.randn(12, 2), torch.arange(12) % 3
    for count in (1, 4):
        panels = [EntropyMap(f"map {i}", torch.rand(25), "caption", inputs if i else None) for i in range(count)]
        path = tmp_path / "folder" / f"{count}.png"
        entropy_maps(panels, inputs, labels, path, title="a title", extent=3.0, legend="what the captions say")
        assert is_picture(path)


def test_bands_with_and_without_outliers(tmp_path):
    grid, outliers = torch.linspace(-3, 3, 20), torch.randn(5)
    panels = [Band("a", torch.randn(4, 20)), Band("b", torch.randn(4, 20), "caption", outliers)]
    data = torch.randn(6, 1), torch.randn(6, 1)
    bands(panels, grid, grid.sin(), data, tmp_path / "bands.png", legend="what the captions say")
    assert is_picture(tmp_path / "bands.png")


def test_points_on_spheres_of_few_and_many_dimensions(tmp_path):
    rows = []
    for dimensions in (3, 8):
        stages = {name: F.normalize(torch.randn(10, dimensions), dim=1) for name in ("start", "end")}
        curves = {"measure": {"one": [2.0, 1.0], "other": [2.0, 0.5]}}
        rows.append(Spreading(f"{dimensions}-D", torch.arange(10) % 2, stages, curves))
    spheres(rows, tmp_path / "spheres.png")
    assert is_picture(tmp_path / "spheres.png")


def test_table_cells_line_up():
    lines = markdown(["a", "bb"], [["long name", "1"], ["x", "22.5"]]).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert lines[1] == "| :-------- | ---: |"


def test_csv_reads_back_as_written():
    rows = [['gamma="auto"', "1,5", ""], ["a\nb", "±", "2"]]
    text = comma_separated(["method", "x", "y"], rows)
    assert list(csv.reader(io.StringIO(text))) == [["method", "x", "y"], *rows]


def test_latex_leaves_no_sign_that_would_be_a_command():
    body = latex(["a_b", "c & d"], [["50 %", "1 ± 2 ↑"]], "x_{y} #1")
    assert r"a\_b & c \& d \\" in body
    assert r"50 \% & 1 $\pm$ 2 $\uparrow$ \\" in body
    assert r"\caption{x\_\{y\} \#1}" in body


def test_the_standard_error_is_the_deviation_over_the_root_of_the_count():
    values = [1.0, 2.0, 4.0, 8.0]
    assert standard_error(values) == pytest.approx(torch.tensor(values).std().item() / 2)
    assert with_error(values, 1) == "3.8 ± 1.5"
    assert with_error([2.0], 1) == "2.0"


def test_shares_sum_to_one_and_take_in_what_lies_beyond():
    edges = np.linspace(0.0, 1.0, 5)
    found = shares(np.array([-1.0, 0.1, 0.3, 0.9, 5.0, 1.0]), edges)
    assert found.tolist() == pytest.approx([2 / 6, 1 / 6, 0, 3 / 6])


def test_panels_and_heat_maps_of_any_number(tmp_path):
    edges = np.linspace(0.0, 1.0, 5)
    for count in (1, 5):
        panel = Histograms("method", {"a": shares(np.array([0.1, 0.9]), edges)}, {"a": 0.5})
        path = tmp_path / f"{count}.png"
        histogram_panels([panel] * count, edges, path, title="title", xlabel="x", ceiling="1")
        assert path.read_bytes().startswith(b"\x89PNG")
        heat = HeatMap("method", np.eye(9 + count), [str(i) for i in range(9 + count)])
        heat_maps([heat] * count, path, title="title", axis="layer", scale="CKA")
        assert path.read_bytes().startswith(b"\x89PNG")
