"""Rendering the template of a connector's package, which is one of copier's; `copier update` works on what was rendered."""

from __future__ import annotations

import keyword
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

import sapwood
from sapwood.errors import ConfigurationError, PluginError
from sapwood.sdk.version import API_VERSION
from sapwood.workspace import make_folder

__all__ = ["AUTHS", "KINDS", "NewConnector", "keep_template", "render"]

KINDS = ("document", "chat", "email")
AUTHS = ("token", "oauth", "none")
_SUFFIX = ".jinja"
_KEY = re.compile(r"[a-z][a-z0-9_]*")
_ANSWERS_FILE = ".copier-answers.yml"


@dataclass(frozen=True, slots=True)
class NewConnector:
    """The answers: `key` is one lower-case word, `kind` one of `KINDS`, `auth` one of `AUTHS`."""

    key: str
    title: str = ""
    kind: str = "document"
    auth: str = "token"
    author: str = ""

    def __post_init__(self) -> None:
        if not _KEY.fullmatch(self.key) or keyword.iskeyword(self.key) or len(self.key) > 40:
            plain = re.sub(r"[^a-z0-9]+", "_", self.key.lower())[:40].strip("_")
            proposed = plain if _KEY.fullmatch(plain) and not keyword.iskeyword(plain) else "my_service"
            title = "" if self.key.isascii() else f" --title {self.key!r}"
            raise ConfigurationError(
                f"the name {self.key!r}", "is no connector's key: one lower-case word of a-z, 0-9 and _, that begins with a letter, and not one of Python's own",
                f"For example: sapwood connectors new {proposed}{title}.",
            )  # fmt: skip
        for text, what in ((self.title, "title"), (self.author, "author")):
            if any(sign in text for sign in '"\\\n{}'):
                raise ConfigurationError(f"the {what} {text!r}", "holds a quotation mark, a brace, a backslash or a line break", "Leave it out.")  # fmt: skip

    @property
    def answers(self) -> dict[str, str]:
        """As the template asks for them."""
        title = self.title.strip() or self.key.replace("_", " ").title()
        return {"key": self.key, "title": title, "kind": self.kind, "auth": self.auth, "author": self.author, "api": API_VERSION}  # fmt: skip


def keep_template(folder: Path) -> Path:
    """The template as a git repository, which `copier update` needs: one commit and one tag a version of Sapwood. Without git, the
    template as it lies in this installation.

    Raises:
        PluginError: the repository cannot be written.
    """
    if shutil.which("git") is None:
        return _template()
    tag = _tag()
    try:
        if not (folder / ".git").is_dir():
            make_folder(str(folder))
            _git(folder, "init", "--quiet")
        if not _git(folder, "tag", "--list", tag):
            for old in folder.iterdir():
                if old.name != ".git":
                    shutil.rmtree(old) if old.is_dir() else old.unlink()
            shutil.copytree(
                _template(), folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", ".git")
            )
            _git(folder, "add", "--all", "--force")
            _git(folder, "commit", "--quiet", "--allow-empty", "--message", f"The template of Sapwood {tag}")
            _git(folder, "tag", tag)
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", "") or str(error)
        raise PluginError(
            str(folder), f"cannot hold the template ({said.strip()})", "Move it away, it is made anew."
        ) from error
    return folder


def _git(folder: Path, *arguments: str) -> str:
    who = (
        "-c",
        "user.name=Sapwood",
        "-c",
        "user.email=sapwood@localhost",
        "-c",
        "commit.gpgsign=false",
        "-c",
        "tag.gpgsign=false",
    )
    done = subprocess.run(["git", *who, *arguments], cwd=folder, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.strip()


def _tag() -> str:
    return f"v{sapwood.__version__}"


def render(asked: NewConnector, into: Path, origin: Path | None = None) -> list[Path]:
    """Write the package into a folder that is not there yet; the files, relative to it. `origin` is where `copier update` finds newer
    templates.

    Raises:
        ConfigurationError: something is there already; PluginError: Jinja is not installed, or the disk refuses.
    """
    if find_spec("jinja2") is None:
        raise PluginError("this environment", "has no Jinja, which renders the template", 'Install it: pip install "sapwood[testkit]".')  # fmt: skip
    if into.exists():
        raise ConfigurationError(
            str(into), "is there already", "Choose another folder with --into, or move that one away."
        )
    files = dict(_rendered(asked, origin))
    try:
        for path, text in files.items():
            file = into / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise PluginError(
            str(into), f"cannot be written ({error.strerror})", "Choose another folder with --into."
        ) from error
    return sorted(files)


def _rendered(asked: NewConnector, origin: Path | None) -> Iterator[tuple[Path, str]]:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)  # noqa: S701 — Python, not HTML
    environment.filters["to_nice_yaml"] = lambda value: yaml.safe_dump(value, allow_unicode=True, sort_keys=True)
    root = _template()
    kept = {"_commit": _tag(), "_src_path": str(origin or root)}
    values: dict[str, Any] = {
        **asked.answers, "_copier_conf": {"answers_file": _ANSWERS_FILE}, "_copier_answers": {**kept, **{k: v for k, v in asked.answers.items() if k != "api"}}
    }  # fmt: skip
    body = root / yaml.safe_load((root / "copier.yml").read_text(encoding="utf-8"))["_subdirectory"]
    for file in sorted(body.rglob("*")):
        if not file.is_file() or "__pycache__" in file.parts:
            continue
        path = environment.from_string(file.relative_to(body).as_posix()).render(values)
        text = file.read_text(encoding="utf-8")
        if path.endswith(_SUFFIX):
            path, text = path.removesuffix(_SUFFIX), environment.from_string(text).render(values)
        yield Path(path), text


def _template() -> Path:
    """The folder of the template: in the installed package, or beside the sources."""
    package = Path(sapwood.__file__).parent
    for place in (package / "connector_template", package.parents[1] / "connector-template"):
        if (place / "copier.yml").is_file():
            return place
    raise PluginError("the template of connectors", "is not part of this installation", "Install Sapwood anew.")
