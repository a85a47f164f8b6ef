"""The API's name for prepared optimizers."""

from accelerate.training.optimizer import AcceleratedOptimizer

__all__ = ["AcceleratedOptimizer"]
