"""What a person may ask to be installed: a name, a wheel, a folder, or the address of a repository."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from sapwood.errors import ConfigurationError

__all__ = ["Requirement", "Source", "parse_requirement"]

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_NAME = re.compile(r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?P<version>(?:[<>=!~]=?=?[^;@]*)?)")
_GIT = re.compile(r"(?:git\+)?(?:https?|ssh|git|file)://\S+|git@[\w.-]+:\S+")


class Source(StrEnum):
    """Where a plugin is taken from."""

    INDEX = "index"
    WHEEL = "wheel"
    FOLDER = "folder"
    GIT = "git"


@dataclass(frozen=True, slots=True)
class Requirement:
    """What is asked for, as pip and uv read it: `sapwood-slack==1.2`, a path, `git+https://…`."""

    text: str
    source: Source


def parse_requirement(asked: str) -> Requirement:
    """A path that exists is that wheel or folder; an address is a repository; a plain word `slack` is `sapwood-slack`, every other name
    is taken as it stands.

    Raises:
        ConfigurationError: it is none of these.
    """
    asked = asked.strip()
    path = Path(asked).expanduser()
    if path.is_dir():
        if not (path / "pyproject.toml").is_file() and not (path / "setup.py").is_file():
            raise ConfigurationError(asked, "is a folder without pyproject.toml", "Give the folder of a package.")
        return Requirement(str(path.absolute()), Source.FOLDER)
    if path.is_file():
        if path.suffix != ".whl":
            raise ConfigurationError(asked, "is no wheel", "Give a file that ends in .whl, or the folder of a package.")
        return Requirement(str(path.absolute()), Source.WHEEL)
    if _GIT.fullmatch(asked):
        if asked.startswith("git@"):  # as git itself writes it
            host, _, rest = asked.removeprefix("git@").partition(":")
            asked = f"ssh://git@{host}/{rest}"
        return Requirement(asked if asked.startswith("git+") else f"git+{asked}", Source.GIT)
    match = _NAME.fullmatch(asked)
    if match is None or asked.endswith(".whl") or "/" in asked or "\\" in asked:
        raise ConfigurationError(
            asked or "''", "is no package's name, no file or folder that is there, and no address",
            "Give a name such as slack or sapwood-slack, a wheel, a folder, or git+https://….",
        )  # fmt: skip
    name = (
        f"sapwood-{match['name'].lower()}"
        if _WORD.fullmatch(match["name"]) and not match["name"].lower().startswith("sapwood")
        else match["name"]
    )
    return Requirement(f"{name}{match['version'].strip()}", Source.INDEX)
