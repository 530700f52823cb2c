"""Running one network's code with the weights of many members: vmapped or in a loop, with equal results.

``vmap`` turns every matrix product into one batched product: several times faster for dense networks.  It turns a
convolution into a grouped convolution, which on a CPU is slower than a plain loop; so ``auto`` loops there.
The loop runs over slices of the stacked tensors: storage and optimizer state stay stacked in both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Literal, TypeAlias, get_args

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.attention import SDPBackend, sdpa_kernel

from hecka.errors import HeckaError, InputError
from hecka.members.taps import Recorder, RecordingHook
from hecka.members.widened_norms import Widened, widen_norms
from hecka.types import Features, Output, Params

Mode: TypeAlias = Literal["auto", "vmap", "loop"]

_CONVOLUTIONS = (nn.modules.conv._ConvNd,)
_HOOKS = (RecordingHook, Widened)


class Execution:
    """Calls ``net`` once for every member, with that member's slice of stacked tensors.

    ``net`` lends its code alone: each of its tensors that ``params`` or ``buffers`` name is replaced for the call.
    """

    def __init__(self, net: nn.Module, taps: tuple[str, ...], mode: Mode, channels_last: bool = False) -> None:
        if mode not in get_args(Mode):
            raise InputError(f"execution: expected one of {', '.join(get_args(Mode))}, got {mode!r}")
        self.net = net
        self.mode = mode
        self.channels_last = channels_last and not any(_overruns_memory(module) for module in net.modules())
        widen_norms(net)
        self.recorder = Recorder(net, taps)
        self._aliases = shared_names(net)
        modules = list(net.modules())
        self._convolves = any(isinstance(module, _CONVOLUTIONS) for module in modules)
        # These read a tensor on the host (a counter, packed lengths), which vmap cannot do.
        self._host_bound = any(
            isinstance(module, nn.RNNBase)
            or (isinstance(module, nn.modules.batchnorm._BatchNorm) and module.momentum is None)
            for module in modules
        )

    def loops(self, device: torch.device) -> bool:
        """Whether members run one after the other on ``device``."""
        if self.mode == "auto":
            return self._host_bound or (self._convolves and device.type == "cpu")
        return self.mode == "loop"

    def __call__(self, params: Params, buffers: Params, inputs: Tensor) -> Output:
        """All members on the same inputs (B, ...): logits (M, B, ...) and features."""
        loops = self.loops(inputs.device)
        # Vmapped, some of a GPU's operators ask for the layout of one member's maps, which nobody can tell.
        if loops and self.channels_last and inputs.dim() == 4:
            inputs = _channels_last(inputs)
        self.recorder.clear()  # a record that is new inside a compiled graph never leaves it
        try:
            return (self._loop if loops else self._vmap)(params, buffers, inputs)
        finally:
            self.recorder.clear()  # what a failed pass left could neither be copied nor pickled

    def _vmap(self, params: Params, buffers: Params, inputs: Tensor) -> Output:
        mapped = torch.vmap(self._one, in_dims=(0, 0, None), randomness="different")
        try:
            with _vmappable_attention():
                logits, features = mapped(params, buffers, inputs)
        except HeckaError:
            raise
        except RuntimeError as error:
            self._run_first_alone(params, buffers, inputs)
            raise InputError(
                f"execution: {type(self.net).__name__}'s forward cannot run vmapped ({error}); "
                "use execution='loop', which runs any network"
            ) from error
        return Output(logits, features)

    def _run_first_alone(self, params: Params, buffers: Params, inputs: Tensor) -> None:
        """Raise what the network itself raises: inputs of another shape or dtype are not the fault of vmap."""
        self.recorder.clear()
        with torch.no_grad():
            weights = {name: tensor[0] for name, tensor in params.items()}
            own = {name: tensor[0].clone() for name, tensor in buffers.items()}  # statistics stay as they are
            self._one(weights, own, inputs)

    def _loop(self, params: Params, buffers: Params, inputs: Tensor) -> Output:
        # unbind, not indexing: its backward is ONE stack of the members' gradients.
        slices = zip(*(tensor.unbind(0) for tensor in params.values()), strict=True)
        version = _version(inputs)
        outputs = [
            self._one(
                dict(zip(params, weights, strict=True)),
                {name: tensor[member] for name, tensor in buffers.items()},
                inputs,
            )
            for member, weights in enumerate(slices)
        ]
        if _version(inputs) != version:
            raise InputError(
                f"execution: {type(self.net).__name__}'s forward changes its inputs in place, so that each member "
                "would be given what the one before it made of them; make a new tensor there (x = x - 1, not x -= 1)"
            )
        features: Features = {name: tuple(features[name] for _, features in outputs) for name in outputs[0][1]}
        return Output(torch.stack([logits for logits, _ in outputs]), features)

    def _one(self, params: Params, buffers: Params, inputs: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        tensors = {alias: params[name] for alias, name in self._aliases.items() if name in params}
        tensors |= {alias: buffers[name] for alias, name in self._aliases.items() if name in buffers}
        logits = functional_call(self.net, tensors, (inputs,), tie_weights=False)
        if not isinstance(logits, Tensor):
            raise InputError(
                f"members: expected the network to return one tensor, got {type(logits).__name__}; "
                "wrap it so that it does"
            )
        for name, buffer in buffers.items():
            if tensors[name] is not buffer:  # the network assigned a new tensor instead of writing into the old one
                buffer.copy_(tensors[name].detach())
        return logits, self.recorder.take()


def remove_hooks(net: nn.Module) -> None:
    """Take off ``net`` what an ``Execution`` hung on it."""
    for module in net.modules():
        for hooks in (module._forward_pre_hooks, module._forward_hooks):
            own = [key for key, hook in hooks.items() if isinstance(getattr(hook, "__self__", hook), _HOOKS)]
            for key in own:
                del hooks[key]


def shared_names(net: nn.Module) -> dict[str, str]:
    """The name of every place that holds a parameter or buffer -> the first name of the same tensor.

    A module that has two names is one place: were both names swapped for a call, the second would be put back last,
    with what the first had just brought in.

    >>> net = nn.ModuleDict({"a": nn.Linear(2, 2, bias=False), "b": nn.Linear(2, 2, bias=False)})
    >>> net["b"].weight, net["c"] = net["a"].weight, net["a"]
    >>> shared_names(net)
    {'a.weight': 'a.weight', 'b.weight': 'a.weight'}
    """
    first: dict[int, str] = {}
    places: Iterable[tuple[str, Tensor]] = (
        place
        for path, module in net.named_modules()
        for place in (
            *module.named_parameters(path, recurse=False, remove_duplicate=False),
            *module.named_buffers(path, recurse=False, remove_duplicate=False),
        )
    )
    return {name: first.setdefault(id(tensor), name) for name, tensor in places}


def _overruns_memory(module: nn.Module) -> bool:
    """Whether the way back through a channels-last convolution may write where it should not, and end the process.

    So does that of oneDNN in torch 2.13 on a CPU, through a strided one of kernel 1 with fewer input channels than a
    vector holds, 16 (oneDNN's issue 6035).
    """
    return (
        isinstance(module, nn.Conv2d)
        and max(module.kernel_size) == 1
        and max(module.stride) > 1
        and module.in_channels < 16
    )


def _channels_last(images: Tensor) -> Tensor:
    """A channels-last copy; with one channel ``contiguous`` would leave the strides as they are."""
    if images.is_contiguous(memory_format=torch.channels_last) and images.stride(1) == 1:
        return images
    return torch.empty_like(images, memory_format=torch.channels_last).copy_(images)


def _version(tensor: Tensor) -> int:
    """How often ``tensor`` was changed in place, where torch counts that: not in inference mode, nor in a graph."""
    return 0 if torch.compiler.is_compiling() or tensor.is_inference() else tensor._version


@contextmanager
def _vmappable_attention() -> Iterator[None]:
    """Attention as plain matrix products: its fused kernels have no batching rule on a CPU or in evaluation mode."""
    with sdpa_kernel(SDPBackend.MATH):
        if torch.compiler.is_compiling():  # the switch below cannot be traced
            yield
            return
        fast = torch.backends.mha.get_fastpath_enabled()
        torch.backends.mha.set_fastpath_enabled(False)
        try:
            yield
        finally:
            torch.backends.mha.set_fastpath_enabled(fast)
