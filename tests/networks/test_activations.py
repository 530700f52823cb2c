import math

import numpy as np
import pytest
import torch
from scipy.integrate import quad

from hecka.networks.activations import Crater, crater


def formula(x: float) -> float:
    c = math.sqrt(2) / 2 + 0.008274364699
    return c * x * (1 + math.tanh(math.sqrt(2) / 2 * (x + 1)))


def test_crater_is_its_formula() -> None:
    x = torch.linspace(-9, 9, 181, dtype=torch.float64)
    expected = torch.tensor([formula(value) for value in x.tolist()], dtype=torch.float64)
    torch.testing.assert_close(crater(x), expected, rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(Crater()(x), expected, rtol=1e-12, atol=1e-14)


def test_crater_keeps_the_variance_of_a_standard_normal() -> None:
    def moment(power: int) -> float:
        def integrand(x: float) -> float:
            value = crater(torch.tensor(x, dtype=torch.float64)).item()
            return value**power * math.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)

        return float(quad(integrand, -12, 12, limit=200)[0])

    assert moment(2) - moment(1) ** 2 == pytest.approx(1.012, abs=5e-4)


def test_crater_has_the_gradient_of_finite_differences() -> None:
    x = torch.linspace(-4, 4, 17, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(crater, x)


def test_crater_stays_finite_far_out() -> None:
    out = crater(torch.tensor([-1e4, 1e4]))
    np.testing.assert_allclose(out.numpy(), [0.0, 2e4 * (math.sqrt(2) / 2 + 0.008274364699)], rtol=1e-6)


def test_crater_has_a_second_gradient_too() -> None:
    x = torch.linspace(-4, 4, 17, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(crater, x)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_the_gradient_is_that_of_the_plain_formula_far_out_too(dtype: torch.dtype) -> None:
    x = torch.tensor([-1e4, -100.0, -9.0, -1.0, 0.0, 0.5, 9.0, 1e4], dtype=dtype, requires_grad=True)
    plain = x.detach().double().requires_grad_()
    c = math.sqrt(2) / 2 + 0.008274364699
    expected = torch.autograd.grad((c * plain * (1 + torch.tanh(math.sqrt(2) / 2 * (plain + 1)))).sum(), plain)[0]
    actual = torch.autograd.grad(crater(x).sum(), x)[0]
    assert actual.dtype == dtype
    tolerance = 4 * torch.finfo(dtype).eps
    torch.testing.assert_close(actual.double(), expected, rtol=tolerance, atol=8 * tolerance)


def test_crater_can_be_vmapped_over_members_and_over_gradients() -> None:
    x = torch.randn(3, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert torch.equal(torch.vmap(crater, in_dims=1, out_dims=1)(x), crater(x))
    each = torch.vmap(torch.vmap(torch.func.grad(crater)))(x)
    x.requires_grad_()
    torch.testing.assert_close(each, torch.autograd.grad(crater(x).sum(), x)[0])
