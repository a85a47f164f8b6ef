"""The image example: what it learns, how it goes on after a checkpoint, and what it says of unusable input."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from accelerate.state import AcceleratorState
from scripts_loader import PROJECT, load_program

pytest.importorskip("timm", reason="the example needs the extra 'examples'")

# A network of a few thousand weights; what is tested is the program, not the network.
SMALL = ["--model", "test_efficientnet", "--image_size", "32", "--batch_size", "4", "--cpu"]


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture(scope="module")
def example() -> Any:
    return load_program("examples/cv_example.py")


def paint(folder: Path, label: str, count: int, colour: tuple[int, int, int]) -> None:
    folder.mkdir(exist_ok=True)
    for number in range(1, count + 1):
        shade = tuple(min(255, part + 5 * number) for part in colour)
        Image.new("RGB", (24, 16), shade).save(folder / f"{label}_{number}.jpg")


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Ten reddish and ten bluish pictures: 16 to learn from, 4 to measure with."""
    paint(tmp_path / "photos", "red_apple", 10, (180, 20, 20))
    paint(tmp_path / "photos", "plum", 10, (20, 20, 180))
    return tmp_path / "photos"


def losses_of(example: Any, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> dict[int, float]:
    """Run the example in this process and return the loss of each step."""
    losses: dict[int, float] = {}

    def record(training: Any, values: dict[str, Any]) -> None:
        if "loss" in values:
            losses[training.progress.total] = float(values["loss"])

    monkeypatch.setattr(example.Training, "log", record)
    monkeypatch.setattr(sys, "argv", ["cv_example.py", *SMALL, *arguments])
    example.main()
    return losses


@pytest.mark.parametrize("stop", [3, 4, 6])
def test_a_resumed_run_repeats_the_losses_of_the_whole_one(
    example: Any, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: int
) -> None:
    common = ["--data_dir", str(photos), "--epochs", "2", "--project_dir", str(tmp_path / "runs")]
    whole = losses_of(example, monkeypatch, *common, "--checkpointing_steps", str(stop))
    checkpoint = tmp_path / "runs" / f"step_{stop}"
    AcceleratorState._reset_state(reset_partial_state=True)
    resumed = losses_of(example, monkeypatch, *common, "--resume_from_checkpoint", str(checkpoint))
    assert list(whole) == list(range(1, 9))
    assert resumed == {step: loss for step, loss in whole.items() if step > stop}


def test_checkpoints_after_each_epoch(
    example: Any, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = tmp_path / "runs"
    arguments = ["--data_dir", str(photos), "--epochs", "2", "--project_dir", str(runs)]
    losses_of(example, monkeypatch, *arguments, "--checkpointing_steps", "epoch")
    assert sorted(folder.name for folder in runs.iterdir()) == ["epoch_1", "epoch_2"]


def launch(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "accelerate.commands.launch", str(PROJECT / "examples/cv_example.py")]
    environment = os.environ | {"PYTHONPATH": str(PROJECT / "src"), "OMP_NUM_THREADS": "1"}
    return subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=110, env=environment)


def test_launched_it_ends_with_accuracy_and_device(photos: Path, tmp_path: Path) -> None:
    result = launch("--data_dir", str(photos), *SMALL, "--epochs", "1", "--project_dir", str(tmp_path / "runs"))
    assert result.returncode == 0, result.stderr
    assert re.fullmatch(r"Accuracy \d+\.\d% after 1 epochs on cpu", result.stdout.splitlines()[-1])
    assert re.search(r"loss \d\.\d+, \d+ images/s", result.stderr)
    assert "16 pictures to learn 2 classes from, 4 to measure with" in result.stdout


def test_launched_with_a_broken_picture_it_names_the_file(photos: Path) -> None:
    whole = (photos / "plum_3.jpg").read_bytes()
    (photos / "plum_3.jpg").write_bytes(whole[: len(whole) // 2])
    result = launch("--data_dir", str(photos), *SMALL)
    assert result.returncode == 1
    assert "plum_3.jpg is a broken picture" in result.stderr
    assert "Traceback" not in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({}, "holds no picture"),
        ({"notes.txt": b"", ".plum_1.jpg": b""}, "holds no picture"),
        ({"plum.jpg": b""}, "plum.jpg has no class in its name"),
        ({"_1.jpg": b""}, "_1.jpg has no class in its name"),
        ({"plum_1.jpg": b""}, "plum_1.jpg is a broken picture"),
        ({"plum_1.png": b"no picture"}, "plum_1.png is a broken picture"),
    ],
)
def test_unusable_folders(example: Any, tmp_path: Path, files: dict[str, bytes], says: str) -> None:
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    with pytest.raises(example.InputError, match=re.escape(says)) as caught:
        example.find_photos(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_folder_that_is_not_there(example: Any, tmp_path: Path) -> None:
    with pytest.raises(example.InputError, match="is not a folder"):
        example.find_photos(tmp_path / "gone")


def test_names_tell_the_classes(example: Any, photos: Path) -> None:
    (photos / "README.txt").write_text("not a picture")
    assert {photo.label for photo in example.find_photos(photos)} == {"red_apple", "plum"}


def group(example: Any, **counts: int) -> list[Any]:
    return [example.Photo(Path(f"{label}_{n}.jpg"), label) for label, count in counts.items() for n in range(count)]


@pytest.mark.parametrize(
    ("counts", "held_back"),
    [
        ({"a": 10, "b": 10}, {"a": 2, "b": 2}),
        ({"a": 10, "b": 1}, {"a": 2}),
        ({"a": 2, "b": 3}, {"a": 1, "b": 1}),
    ],
)
def test_each_class_is_split(example: Any, counts: dict[str, int], held_back: dict[str, int]) -> None:
    train, test = example.split(group(example, **counts), seed=0)
    labels = [photo.label for photo in test]
    assert {label: labels.count(label) for label in sorted(set(labels))} == held_back
    assert len({*train, *test}) == len(train) + len(test) == sum(counts.values())


@pytest.mark.parametrize(("counts", "says"), [({"a": 5}, "one class"), ({"a": 1, "b": 1}, "one picture only")])
def test_splits_that_make_no_sense(example: Any, counts: dict[str, int], says: str) -> None:
    with pytest.raises(example.InputError, match=says):
        example.split(group(example, **counts), seed=0)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"checkpointing_steps": "often"}, "--checkpointing_steps is 'often'"),
        ({"checkpointing_steps": "0"}, "--checkpointing_steps is '0'"),
        ({"model": "nonsense"}, "--model is 'nonsense'"),
        ({"resume_from_checkpoint": Path("gone")}, "--resume_from_checkpoint is 'gone'"),
    ],
)
def test_unusable_arguments(example: Any, changed: dict[str, object], says: str) -> None:
    usable = {"checkpointing_steps": "epoch", "model": "resnet18", "resume_from_checkpoint": None}
    example.check_arguments(Namespace(**usable))
    with pytest.raises(example.InputError, match=says):
        example.check_arguments(Namespace(**usable | changed))


def test_it_says_nothing_about_devices() -> None:
    source = (PROJECT / "examples/cv_example.py").read_text()
    assert re.findall(r"cuda|mps|\.to\(|torch\.device|\w+\.device", source) == ["accelerator.device"]
