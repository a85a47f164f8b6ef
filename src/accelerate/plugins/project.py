"""Where a project keeps its files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from os import PathLike


@dataclass
class ProjectConfiguration:
    """Folders and naming of checkpoints and logs.

    Args:
        project_dir: Folder of the project; checkpoints go below it.
        logging_dir: Folder of the trackers' local files; None means `project_dir`.
        automatic_checkpoint_naming: Whether `save_state()` without a path counts up the names of its folders,
            `checkpoints/checkpoint_<iteration>`.
        total_limit: How many of those are kept; None keeps all.
        iteration: Number of the next one.
        save_on_each_node: Whether every machine saves, not only the first.
    """

    project_dir: str | PathLike[str] | None = None
    logging_dir: str | PathLike[str] | None = None
    automatic_checkpoint_naming: bool = False
    total_limit: int | None = None
    iteration: int = 0
    save_on_each_node: bool = False

    def __post_init__(self) -> None:
        """Let the logs follow the project."""
        self.set_directories(self.project_dir)

    def set_directories(self, project_dir: str | PathLike[str] | None = None) -> None:
        """Move the project to `project_dir`; a logging folder that was never set follows it."""
        self.project_dir = project_dir
        if self.logging_dir is None:
            self.logging_dir = project_dir
