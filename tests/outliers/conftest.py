import pytest
import torch

from hecka.outliers.draws import Draws


@pytest.fixture
def draws() -> Draws:
    return Draws(torch.Generator().manual_seed(0), torch.device("cpu"), torch.float64)
