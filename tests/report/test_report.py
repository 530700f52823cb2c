"""Pictures and tables."""

import torch
import torch.nn.functional as F

from hecka.report.bands import Band, bands
from hecka.report.entropy_maps import EntropyMap, entropy_maps
from hecka.report.spheres import Spreading, spheres
from hecka.report.tables import markdown


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
