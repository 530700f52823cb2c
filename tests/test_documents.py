"""Python in the documents runs, and what they link to exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
BLOCKS = [
    pytest.param(block, id=f"{document.name}-{number}")
    for document in DOCUMENTS
    for number, block in enumerate(
        re.findall(r"^ *```python\n(.*?)^ *```", document.read_text(), re.DOTALL | re.MULTILINE)
    )
]


@pytest.mark.parametrize("block", BLOCKS)
def test_code_runs(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    indent = min(len(line) - len(line.lstrip()) for line in block.splitlines() if line.strip())
    source = "\n".join(line[indent:] for line in block.splitlines())
    exec(compile(source, "document", "exec"), {"__name__": "document"})


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document):
    links = re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text())
    assert all((document.parent / link).exists() for link in links), links


def test_the_readme_shows_working_code_within_thirty_lines():
    lines = (ROOT / "README.md").read_text().splitlines()
    assert "```" in lines[10:30]
