"""The option classes that scripts hand to `Accelerator`, each a small dataclass without torch.

Import them from `accelerate.utils` or `accelerate.utils.dataclasses`; this package is where they live.
"""
