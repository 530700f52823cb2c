"""Pictures and tables."""

import torch

from hecka.report.entropy_maps import EntropyMap, entropy_maps
from hecka.report.tables import markdown


def test_a_picture_holds_any_number_of_panels(tmp_path):
    inputs, labels = torch.randn(12, 2), torch.arange(12) % 3
    for count in (1, 4):
        panels = [EntropyMap(f"map {i}", torch.rand(25), "caption", inputs if i else None) for i in range(count)]
        path = tmp_path / "folder" / f"{count}.png"
        entropy_maps(panels, inputs, labels, path, title="a title", extent=3.0, legend="what the captions say")
        assert path.read_bytes().startswith(b"\x89PNG")


def test_table_cells_line_up():
    lines = markdown(["a", "bb"], [["long name", "1"], ["x", "22.5"]]).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert lines[1] == "| :-------- | ---: |"
