import pytest
import torch
from torch import nn

from hecka.types import Batch


@pytest.fixture(autouse=True)
def _one_seed():
    torch.manual_seed(0)


@pytest.fixture
def modules():
    """Three networks; what their two taps "1" and "2" record are hidden features and outputs."""
    return [nn.Sequential(nn.Linear(2, 6), nn.Tanh(), nn.Linear(6, 3)).double() for _ in range(3)]


@pytest.fixture(params=["classes", "values"])
def batch(request):
    """Ten inliers and, on their own scale, seven outliers."""
    classes = request.param == "classes"
    targets = torch.randint(3, (10,)) if classes else torch.randn(10, 3, dtype=torch.float64)
    return Batch(torch.randn(10, 2, dtype=torch.float64), targets, 3 * torch.randn(7, 2, dtype=torch.float64))


@pytest.fixture(params=["vmap", "loop"])
def execution(request):
    return request.param
