"""Run any PyTorch training script on the Apple GPU, a CPU or CUDA, unchanged.

The public names are listed in `__init__.pyi` and imported on first use, so that the command line never waits for torch.
"""

from accelerate import lazy

__getattr__, __dir__, __all__ = lazy.attach(__name__, __file__)

__version__ = "1.15.0+mac.1"
