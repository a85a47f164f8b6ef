"""The API's names for logging in programs of several processes."""

from accelerate.log import MultiProcessAdapter
from accelerate.process import get_logger

__all__ = ["MultiProcessAdapter", "get_logger"]
