"""Python in the documents runs, and what they link to exists."""

import re
import textwrap
from pathlib import Path

import pytest
import torch

import hecka

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


def python_in(document):
    """The code blocks of a document, without the indentation of the list item that they stand in."""
    blocks = re.findall(r"^ *```python\n(.*?)^ *```", document.read_text(), re.DOTALL | re.MULTILINE)
    return [textwrap.dedent(block) for block in blocks]


BLOCKS = [
    pytest.param(block, id=f"{document.name}-{number}")
    for document in DOCUMENTS
    for number, block in enumerate(python_in(document))
]


@pytest.mark.parametrize("block", BLOCKS)
def test_code_runs(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "document", "exec"), {"__name__": "document"})


def test_the_method_in_contributing_trains_members_as_it_stands():
    (block,) = python_in(ROOT / "CONTRIBUTING.md")
    scope = {"__name__": "skeleton"}
    exec(compile(block, "CONTRIBUTING.md", "exec"), scope)
    inputs, labels = torch.randn(24, 2, generator=torch.Generator().manual_seed(0)), torch.arange(24) % 3
    ensembles = [hecka.Ensemble(lambda: torch.nn.Linear(2, 3), members=3, seed=0) for _ in range(2)]
    for ensemble, method in zip(ensembles, (scope["Sharpened"](power=0.0), hecka.Independent()), strict=True):
        hecka.fit(ensemble, (inputs, labels), method=method, steps=5, progress=False)
    assert torch.equal(ensembles[0].net.weight, ensembles[1].net.weight)  # the power 0 is a plain deep ensemble
    run = hecka.fit(ensembles[0], (inputs, labels), method=scope["Sharpened"](), steps=50, progress=False)
    assert run.records[-1]["loss"] < run.records[0]["loss"]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document):
    links = re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text())
    assert all((document.parent / link).exists() for link in links), links


def test_the_readme_shows_working_code_within_thirty_lines():
    lines = (ROOT / "README.md").read_text().splitlines()
    assert "```" in lines[10:30]
