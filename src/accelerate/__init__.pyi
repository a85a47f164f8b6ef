from .accelerator import Accelerator
