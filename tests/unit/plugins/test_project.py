"""Folders of a project."""

from __future__ import annotations

from accelerate.plugins.project import ProjectConfiguration


def test_logs_follow_the_project() -> None:
    assert ProjectConfiguration("a").logging_dir == "a"


def test_logs_with_a_folder_of_their_own_stay() -> None:
    configuration = ProjectConfiguration("a", logging_dir="b")
    configuration.set_directories("c")
    assert (configuration.project_dir, configuration.logging_dir) == ("c", "b")


def test_a_project_may_get_its_folder_later() -> None:
    configuration = ProjectConfiguration()
    configuration.set_directories("c")
    assert (configuration.project_dir, configuration.logging_dir) == ("c", "c")
