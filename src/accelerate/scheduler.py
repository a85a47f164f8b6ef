"""The API's name for prepared schedulers."""

from accelerate.training.scheduler import AcceleratedScheduler

__all__ = ["AcceleratedScheduler"]
