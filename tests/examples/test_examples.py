"""Every example runs as a reader would run it."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name: str, *arguments: str) -> str:
    command = [sys.executable, str(EXAMPLES / name), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_one_file_is_short_and_draws_a_picture_of_a_diverse_ensemble_that_is_less_sure(tmp_path):
    assert len((EXAMPLES / "one_file.py").read_text().splitlines()) < 120
    picture = tmp_path / "moons.png"
    plain, diverse = run("one_file.py", "300", str(picture)).splitlines()
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert float(diverse.rsplit(" ", 1)[1]) > 2 * float(plain.rsplit(" ", 1)[1])


@pytest.mark.skipif(importlib.util.find_spec("lightning") is None, reason="lightning is not installed")
def test_lightning_module_learns():
    assert float(run("lightning_module.py").split("accuracy ")[1]) > 0.8


@pytest.mark.slow
def test_images_trains_all_methods_and_finds_outliers():
    printed = run("images.py", "digits", "15")
    areas = [float(line.split("entropy ")[1].split(",")[0]) for line in printed.splitlines() if "AUROC" in line]
    assert len(areas) == 6
    assert min(areas) > 0.9


@pytest.mark.slow
def test_price_pays_what_is_allowed_on_noisy_labels_and_says_so():
    lines = run("price.py", "noisy").splitlines()
    plain, diverse = (float(line.split()[-4]) for line in (lines[0], lines[1]))  # CKA of the first layer
    assert diverse < plain - 0.05
    prices = [float(line.split("price")[1].split()[0]) for line in lines[2:]]
    assert len(prices) == 5
    assert all(0.5 < price < 1.5 for price in prices[2:])  # the warm-up is over
