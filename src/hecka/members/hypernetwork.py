r"""A network that writes networks: every draw of a latent vector gives the weights of another member.

.. math:: z \sim N(0, I), \quad c = h(z), \quad \theta_l = g_l(c_l)

One generator h turns a member's latent z into codes: one for each filter of a convolution, one for each other layer.
Each layer has a generator of its own, which writes one filter (with its bias) from that filter's code, or the whole
layer.  What is trained is h and all g; any number of members can then be drawn.

The cost: nearly all parameters stand in the last matrix of the generators of dense layers, (last width + 1) for each
weight they write.  The published generator for LeNet5 has hidden sizes 80, 245, 751, 2302 there: 102.7 million
parameters for 44 thousand.  But z has few dimensions, so that all members lie on a surface of as few; a last hidden
layer about as wide as z loses little, and is the default: 1.45 million.

References: Smerkous, Bai & Li, NeurIPS 2024, section 4.2; the split into codes is that of HyperGAN (Ratzlaff and Li,
2019).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from hecka.errors import InputError, nearest
from hecka.members.ensemble import Ensemble
from hecka.members.evaluation import batches, evaluation_mode
from hecka.members.execution import Execution, Mode, remove_hooks
from hecka.members.generators import Generator, LayerGenerator
from hecka.networks.spectral import DIRECTION
from hecka.scores.predictive import Prediction
from hecka.types import NetFactory, Output, Params

WIDTHS = (64, 32)  # hidden sizes of a layer's generator; the last about as wide as the latent
FRESH = 8  # networks from which the scale of each tensor is measured: a layer's ten biases give it to 8 %


class Hypernetwork(nn.Module):
    """Members drawn from a generator of weights.

    A tensor that the factory fills with the same constants every time (a norm's scale and shift, biases that start at
    zero) has no spread to draw from: all members share it, and it is trained like the generators.

    Args:
        make_net: makes one freshly initialised network, of any architecture without BatchNorm.
        latent: size of the latent vector z.
        code: size of a filter's or layer's code.
        members: how many are drawn for a training step, and how many answer in evaluation mode.
        taps: as in ``Ensemble``.
        seed: of the generators' first weights and of the latents of evaluation.
        widths: hidden sizes of each layer's generator, or those of some layers by name, ``{"fc1": (80, 245)}``; the
            default for all others.
        code_widths: hidden sizes of the generator of codes.
        execution: as in ``Ensemble``.

    >>> hypernetwork = Hypernetwork(lambda: nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 3)), members=5)
    >>> hypernetwork(torch.randn(4, 2)).logits.shape
    torch.Size([5, 4, 3])
    >>> hypernetwork.draw(20, seed=1).predict(torch.randn(7, 2)).logits.shape
    torch.Size([20, 7, 3])
    """

    shares_weights: bool = True
    latents: Tensor

    def __init__(
        self,
        make_net: NetFactory,
        latent: int = 32,
        code: int = 24,
        *,
        members: int = 5,
        taps: Sequence[str] | None = None,
        seed: int = 0,
        widths: Sequence[int] | Mapping[str, Sequence[int]] = WIDTHS,
        code_widths: Sequence[int] = (64, 64),
        execution: Mode = "auto",
    ) -> None:
        super().__init__()
        every = [size for sizes in widths.values() for size in sizes] if isinstance(widths, Mapping) else widths
        _check_sizes(members=members, latent=latent, code=code, widths=every, code_widths=code_widths)
        fresh = Ensemble(make_net, FRESH, taps=taps, seed=seed)
        _check_without_statistics(fresh.net)
        self.members = members
        self.taps = fresh.taps
        self.net = fresh.member(0)
        self._layers = _layers(self.net, fresh.params())
        self._rows = [_rows(self.net, path, fresh.params(), names) for path, names in self._layers.items()]
        with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
            torch.manual_seed(seed)
            self.coder = Generator(latent, *code_widths, code * sum(self._rows))
            self.generators = nn.ModuleList(
                LayerGenerator(code, sizes, [fresh.params()[name].detach() for name in names], count)
                for sizes, names, count in zip(
                    _widths(widths, list(self._layers)), self._layers.values(), self._rows, strict=True
                )
            )
            self.register_buffer("latents", torch.randn(members, latent))
        for name in self._generated():
            self.net.get_parameter(name).requires_grad_(False)  # it lends its place; its numbers are never used
        self._execution = Execution(self.net, self.taps, execution)

    def generate(self, latents: Tensor) -> Params:
        """The parameters of the members that ``latents`` (M, latent) stand for, (M, ...) each."""
        codes = self.coder(latents).unflatten(-1, (sum(self._rows), -1)).split(self._rows, dim=1)
        written: Params = {}
        for names, generator, own in zip(self._layers.values(), self.generators, codes, strict=True):
            written |= dict(zip(names, generator(own), strict=True))
        shared = {name: tensor for name, tensor in self.net.named_parameters() if tensor.requires_grad}
        return written | {name: tensor.expand(len(latents), *tensor.shape) for name, tensor in shared.items()}

    def params(self, generator: torch.Generator | None = None) -> Params:
        """The parameters of ``members`` new members; in evaluation mode, without a ``generator``, of a fixed set."""
        if generator is None and not self.training:
            return self.generate(self.latents)
        device = self.latents.device if generator is None else generator.device
        drawn = torch.randn(self.latents.shape, generator=generator, device=device, dtype=self.latents.dtype)
        return self.generate(drawn.to(self.latents.device))

    def run(self, params: Params, inputs: Tensor) -> Output:
        """Every member on the same ``inputs`` (B, ...), with the weights ``params``."""
        members = len(next(iter(params.values())))
        constants = dict((*self.net.named_parameters(), *self.net.named_buffers()))
        shared = {
            name: tensor.expand(members, *tensor.shape) for name, tensor in constants.items() if name not in params
        }
        return self._execution(params, shared, inputs)

    def forward(self, inputs: Tensor) -> Output:
        """Logits (M, B, ...) and recorded features of every member on the same ``inputs`` (B, ...)."""
        return self.run(self.params(), inputs)

    def pull_back(self, params: Params, direction: Params) -> None:
        """Add ``direction``, pulled back through the generators, to their ``.grad``: one backward pass for all."""
        torch.autograd.backward(list(params.values()), [direction[name] for name in params])

    @torch.no_grad()
    def predict(self, inputs: Tensor, batch_size: int = 1024) -> Prediction:
        """What the fixed evaluation members say of ``inputs``, batch after batch, without gradient."""
        with evaluation_mode(self):
            params = self.generate(self.latents)
            device = self.latents.device
            logits = [self.run(params, batch.to(device)).logits for batch in batches(inputs, batch_size)]
        return Prediction(torch.cat(logits, dim=1))

    @torch.no_grad()
    def draw(self, members: int, seed: int = 0) -> Ensemble:
        """``members`` new members as an ensemble with weights of its own."""
        generator = torch.Generator().manual_seed(seed)
        drawn = torch.randn(members, self.latents.shape[1], generator=generator).to(self.latents)
        with evaluation_mode(self):
            params = self.generate(drawn)
        nets = [self._net({name: params[name][member] for name in self._generated()}) for member in range(members)]
        return Ensemble.from_modules(nets, taps=self.taps, execution=self._execution.mode)

    def _net(self, weights: Params) -> nn.Module:
        """A copy of the network with ``weights``; deepcopy finds them in its memo, in place of the lent ones."""
        memo: dict[int, object] = {id(self.net.get_parameter(name)): nn.Parameter(own) for name, own in weights.items()}
        net = copy.deepcopy(self.net, memo)
        remove_hooks(net)
        return net

    def _generated(self) -> list[str]:
        return [name for names in self._layers.values() for name in names]


def _layers(net: nn.Module, fresh: Params) -> dict[str, list[str]]:
    """Path of each module -> names of the tensors that it owns and that differ from one fresh network to the next."""
    layers: dict[str, list[str]] = {}
    for name, tensor in fresh.items():
        if not (tensor == tensor[:1]).all():
            layers.setdefault(name.rpartition(".")[0], []).append(name)
    return layers


def _rows(net: nn.Module, path: str, fresh: Params, names: Sequence[str]) -> int:
    """How many codes a layer gets: one for each filter of a convolution, else one."""
    convolves = isinstance(net.get_submodule(path), nn.Conv1d | nn.Conv2d | nn.Conv3d)
    first_axes = {fresh[name].shape[1:2] for name in names}  # of weight and bias; a subclass may own other tensors
    return next(iter(first_axes))[0] if convolves and len(first_axes) == 1 else 1


def _widths(widths: Sequence[int] | Mapping[str, Sequence[int]], layers: Sequence[str]) -> list[Sequence[int]]:
    """The hidden sizes of each layer's generator."""
    if not isinstance(widths, Mapping):
        return [widths for _ in layers]
    for name in widths:
        if name not in layers:
            raise InputError(f"Hypernetwork: widths: {name!r} is no generated layer; {nearest(name, layers)}")
    return [widths.get(layer, WIDTHS) for layer in layers]


def _check_sizes(members: int, latent: int, code: int, widths: Sequence[int], code_widths: Sequence[int]) -> None:
    sizes = {
        "members": (members,),
        "latent": (latent,),
        "code": (code,),
        "widths": widths,
        "code_widths": code_widths,
    }
    for name, given in sizes.items():
        if min(given, default=1) < 1:
            raise InputError(f"Hypernetwork: expected {name} of at least 1, got {min(given)}")


def _check_without_statistics(net: nn.Module) -> None:
    """Buffers are the same for all members here, so a layer that learns a member's own cannot be used."""
    for name, module in net.named_modules():
        norm = isinstance(module, nn.modules.batchnorm._NormBase) and module.running_mean is not None
        if norm or DIRECTION in module._buffers:
            raise InputError(
                f"Hypernetwork: {name!r} ({type(module).__name__}) gathers statistics of one member over many steps, "
                "but a drawn member exists for a single step; use a norm without running statistics, nn.GroupNorm "
                "(its scale and shift are trained and shared by all members), and no spectral_bound"
            )
