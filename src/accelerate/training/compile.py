"""Compilation of models with `torch.compile`."""

from __future__ import annotations

import dataclasses
import sys
from collections import Counter
from typing import Any, cast

import torch

from accelerate.plugins.compile import TorchDynamoPlugin
from accelerate.plugins.enums import DynamoBackend
from accelerate.settings.sections import CompileSection


def is_compiled_module(module: Any) -> bool:
    """Say whether `module` is what `torch.compile` has returned for a model."""
    # Importing torch's compiler takes as long as importing torch; where nobody has, nothing is compiled.
    compiler = sys.modules.get("torch._dynamo.eval_frame")
    return compiler is not None and isinstance(module, compiler.OptimizedModule)


def plugin_from(settings: CompileSection, plugin: TorchDynamoPlugin | None = None) -> TorchDynamoPlugin:
    """Return what `plugin` says about compilation, and what `settings` say where it says nothing."""
    said = plugin or TorchDynamoPlugin()
    return dataclasses.replace(
        said,
        backend=said.backend if said.backend is not None else settings.backend,
        mode=said.mode if said.mode is not None else settings.mode,
        fullgraph=said.fullgraph if said.fullgraph is not None else settings.fullgraph,
        dynamic=said.dynamic if said.dynamic is not None else (settings.dynamic or None),
        use_regional_compilation=(
            said.use_regional_compilation if said.use_regional_compilation is not None else settings.regional
        ),
    )


def compile_model(model: torch.nn.Module, plugin: TorchDynamoPlugin) -> torch.nn.Module:
    """Return `model` compiled as `plugin` says; the model itself when it is compiled already or nothing was asked."""
    if plugin.backend in (None, DynamoBackend.NO) or is_compiled_module(model) or has_compiled_regions(model):
        return model
    options = plugin.to_kwargs() | {"backend": str(plugin.backend).lower()}
    if plugin.use_regional_compilation:
        return compile_regions(model, **options)
    return _compiled(model, **options)


def _compiled(module: torch.nn.Module, **options: Any) -> torch.nn.Module:
    return cast("torch.nn.Module", torch.compile(module, **options))


def has_compiled_regions(module: torch.nn.Module) -> bool:
    """Say whether some, but not the outermost, of the modules in `module` are compiled."""
    inner = list(module.modules())[1:]
    return not is_compiled_module(module) and any(is_compiled_module(child) for child in inner)


def compile_regions(module: torch.nn.Module, **compile_kwargs: Any) -> torch.nn.Module:
    """Return `module` with its repeated blocks compiled, in place; the rest stays eager.

    Blocks are the items of a ModuleList whose class occurs there more than once: they share one compilation, so that a
    deep model compiles as fast as one block. A module without such lists is compiled as a whole.
    """
    lists = [child for child in module.modules() if isinstance(child, torch.nn.ModuleList)]
    found = False
    for blocks in lists:
        classes = Counter(type(block) for block in blocks)
        for index, block in enumerate(blocks):
            if classes[type(block)] > 1:
                blocks[index] = _compiled(block, **compile_kwargs)
                found = True
    return module if found else _compiled(module, **compile_kwargs)
