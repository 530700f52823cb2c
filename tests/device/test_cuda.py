"""What only a GPU can show; skipped, and counted as such, on a machine without one."""

from contextlib import contextmanager
from functools import partial

import pytest
import torch
from torch import nn

import hecka
from hecka.bench.table import bench
from hecka.members.hypernetwork import Hypernetwork
from hecka.outliers import Border, Images
from hecka.types import Batch

pytestmark = [
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
    pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype"),
]

CUDA = torch.device("cuda")
POSTERIOR = {"data_size": 40, "prior": hecka.Gaussian(1.0)}
METHODS = {
    "independent": hecka.Independent(),
    "repulsive": hecka.Repulsive(gamma=0.5),
    "repulsive-rbf": hecka.Repulsive(hecka.HECKA(kernel="rbf"), gamma=0.5),
    "repulsive-auto": hecka.Repulsive(),
    "svgd-rbf": hecka.SVGD(),
    "svgd-he": hecka.SVGD(kernel=hecka.HECKA()),
    "fsvgd": hecka.SVGD(space="logits", **POSTERIOR),
    "kde-wgd-he": hecka.WGD(kernel=hecka.HECKA()),
    "sge-wgd": hecka.WGD(estimator="sge"),
    "ssge-fwgd": hecka.WGD(estimator="ssge", space="softmax", **POSTERIOR),
}
every_method = pytest.mark.parametrize("name", METHODS)


def conv_net() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 4, 3),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(4 * 36, 16),
        nn.Tanh(),
        nn.Linear(16, 4),
    )


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 4))


NETS = [(mlp, (3,)), (conv_net, (1, 8, 8))]


def batch(shape: tuple[int, ...] = (3,), dtype: torch.dtype = torch.float32, examples: int = 16) -> Batch:
    generator = torch.Generator().manual_seed(1)
    inputs, outliers = (torch.randn(examples, *shape, generator=generator, dtype=dtype) for _ in range(2))
    return Batch(inputs, torch.randint(4, (examples,), generator=generator), 3 * outliers)


def direction(name: str, members: hecka.Members, data: Batch, device: torch.device) -> torch.Tensor:
    method = METHODS[name]
    step = method(members, members.params(), data, method.start(members), torch.Generator(device).manual_seed(0))
    return torch.cat([each.flatten() for each in step.direction.values()])


@contextmanager
def no_waiting():
    """Inside, whatever makes the host wait for the device is an error."""
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


@every_method
@pytest.mark.parametrize(("make_net", "shape"), NETS, ids=["mlp", "conv"])
def test_a_step_never_waits(name, make_net, shape):
    members = hecka.Ensemble(make_net, 4).to(CUDA)
    data = batch(shape).to(CUDA)
    direction(name, members, data, CUDA)  # the first call loads kernels
    with no_waiting():
        direction(name, members, data, CUDA)


@every_method
def test_the_same_direction_as_on_the_cpu(name):
    if name in ("fsvgd", "ssge-fwgd"):
        pytest.skip("draws fresh networks, and generators of two devices differ")
    members = hecka.Ensemble(mlp, 4).double()
    data = batch(dtype=torch.float64)
    expected = direction(name, members, data, torch.device("cpu"))
    there = direction(name, members.to(CUDA), data.to(CUDA), CUDA)
    torch.testing.assert_close(there.cpu(), expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("make_net", [mlp, conv_net], ids=["mlp", "conv"])
def test_vmapped_equals_looped(make_net):
    shape = (3,) if make_net is mlp else (1, 8, 8)
    answers = [
        direction("repulsive", hecka.Ensemble(make_net, 4, execution=mode).double().to(CUDA), data, CUDA)
        for mode in ("vmap", "loop")
        for data in [batch(shape, torch.float64).to(CUDA)]
    ]
    torch.testing.assert_close(*answers, rtol=1e-6, atol=1e-8)


@every_method
@pytest.mark.parametrize(("make_net", "shape"), NETS, ids=["mlp", "conv"])
def test_half_precision_goes_nearly_the_same_way(name, make_net, shape):
    members, data = hecka.Ensemble(make_net, 4).to(CUDA), batch(shape).to(CUDA)
    full = direction(name, members, data, CUDA)
    with torch.autocast("cuda", torch.bfloat16):
        half = direction(name, members, data, CUDA)
    assert torch.cosine_similarity(full, half, dim=0) > 0.98


def test_channels_last_gives_the_same():
    data = batch((1, 8, 8)).to(CUDA)
    answers = [
        direction("repulsive", hecka.Ensemble(conv_net, 4, channels_last=last).to(CUDA), data, CUDA)
        for last in (False, True)
    ]
    torch.testing.assert_close(*answers, rtol=1e-3, atol=1e-4)


@pytest.mark.filterwarnings("ignore", "error:fit")  # the compiler warns of itself; hecka, where it fails
@pytest.mark.parametrize("captured", [False, True], ids=["each", "captured"])
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_a_resumed_run_equals_an_uninterrupted_one(compiled, captured, tmp_path):
    inputs, labels = batch(examples=64).inputs, batch(examples=64).targets

    def run(out, steps):
        ensemble = hecka.Ensemble(mlp, 4).to(CUDA)
        outliers = Border.around(inputs, count=8)
        for each in steps:
            hecka.fit(
                ensemble,
                (inputs, labels),
                method=hecka.Repulsive(),
                outliers=outliers,
                steps=each,
                batch_size=16,
                out=out,
                compile=compiled,
                capture=captured,
                progress=False,
            )
        return torch.cat([each.flatten() for each in ensemble.parameters()])

    torch.testing.assert_close(run(tmp_path / "a", [9]), run(tmp_path / "b", [4, 9]), rtol=0, atol=0)


@every_method
@pytest.mark.parametrize("precision", ["float32", "bf16"])
@pytest.mark.parametrize(("make_net", "shape"), NETS, ids=["mlp", "conv"])
def test_a_recorded_run_equals_one_step_by_step(name, make_net, shape, precision):
    """Two shapes of batches, statistics of norms, dropout, moments, and what methods draw themselves."""
    data = batch(shape, examples=60)

    def run(capture):
        ensemble = hecka.Ensemble(lambda: nn.Sequential(make_net(), nn.Dropout(0.2)), 4).to(CUDA)
        trained = hecka.fit(
            ensemble,
            (data.inputs, data.targets),
            method=METHODS[name],
            epochs=3,
            batch_size=16,
            precision=precision,
            capture=capture,
            progress=False,
        )
        return trained.members.state_dict(), trained.records[-1]["loss"]

    torch.testing.assert_close(run(capture=True), run(capture=False), rtol=1e-5, atol=1e-6)


def test_a_step_that_waits_cannot_be_recorded():
    class Waiting(hecka.Independent):
        def __call__(self, members, params, batch, state, generator):
            step = super().__call__(members, params, batch, state, generator)
            step.info["loss"].item()
            return step

    data = batch(examples=64)
    with pytest.raises(hecka.InputError, match="could not record a step of Waiting"):
        hecka.fit(
            hecka.Ensemble(mlp, 4).to(CUDA),
            (data.inputs, data.targets),
            method=Waiting(),
            steps=3,
            batch_size=16,
            capture=True,
            progress=False,
        )
    assert torch.ones(2, device=CUDA).sum().item() == 2


@pytest.mark.parametrize("channels", [1, 3])
def test_made_up_images_come_from_the_device_without_waiting(channels):
    inputs = torch.rand(32, channels, 32, 32, device=CUDA)
    outliers = Images(black=(0.0,) * channels, white=(1.0,) * channels, count=20)
    generator = torch.Generator(CUDA).manual_seed(0)
    first = outliers(inputs, generator)
    with no_waiting():
        second = outliers(inputs, generator)
    assert first.device.type == "cuda"
    assert not torch.equal(first, second)


@pytest.mark.parametrize("captured", [False, True], ids=["each", "captured"])
def test_a_hypernetwork_trains_and_draws_there(captured):
    hypernetwork = Hypernetwork(mlp, members=4).to(CUDA)
    data = batch(examples=64)
    hecka.fit(
        hypernetwork,
        (data.inputs, data.targets),
        method=hecka.Repulsive(gamma=0.1),
        steps=5,
        batch_size=16,
        capture=captured,
        progress=False,
    )
    assert hypernetwork.draw(6).predict(data.inputs).logits.shape == (6, 64, 4)


def test_evaluation_happens_there():
    ensemble = hecka.Ensemble(partial(nn.Linear, 3, 4), 4).to(CUDA)
    data = batch(examples=64)
    scores = hecka.evaluate(ensemble, (data.inputs, data.targets), {"far": data.outliers})
    assert 0 <= scores.outliers["far"].entropy.auroc <= 1


def test_the_benchmark_runs_there_and_tells_memory():
    table = bench(repeats=1, device="cuda", only=["lenet-ood", "toy", "hypernetwork", "memory-lenet"])
    assert "MiB of the other" in table
    assert "failed" not in table
