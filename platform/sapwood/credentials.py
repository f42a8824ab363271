"""References to secrets, resolved at the last moment and kept nowhere but in this process, which cuts them out of all that it tells."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from urllib.parse import quote, quote_plus

from sapwood.errors import ConfigurationError

__all__ = ["CUT", "resolve", "without_secrets"]

CUT = "[secret]"
_SHORTEST = 4  # characters: what is shorter stands in too many words
_told: dict[str, tuple[str, ...]] = {}


def without_secrets(text: str) -> str:
    """A message without the secrets that this process has resolved: as they are, encoded for URLs, and in base64 at any place of a
    longer text, such as a name and a password together."""
    forms = sorted({form for several in _told.values() for form in several}, key=len, reverse=True)
    for form in forms:
        if form in text:
            text = text.replace(form, CUT)
    return text


def _forms(secret: str) -> tuple[str, ...]:
    if len(secret) < _SHORTEST:
        return ()
    data = secret.encode("utf-8", "surrogateescape")
    forms = {secret, quote(secret, safe=""), quote_plus(secret)}
    for before in range(3):  # base64 takes three bytes at once: the same text looks otherwise at each of three places
        coded = base64.b64encode(b"\0" * before + data)
        # Of its letters those that hang on nothing but the secret.
        inner = coded[-(-before * 8 // 6) : (before + len(data)) * 8 // 6].decode("ascii")
        forms |= {inner, inner.replace("+", "-").replace("/", "_")} if len(inner) > _SHORTEST else set()
    return tuple(forms)


def resolve(reference: str) -> str:
    """The secret behind `env:NAME`, `file:/path` or `keyring:service/user`. From now on `without_secrets` cuts it out.

    Raises:
        ConfigurationError: there is none, or the reference has another form.
    """
    secret = _looked_up(reference)
    if secret not in _told:
        _told[secret] = _forms(secret)
    return secret


def _looked_up(reference: str) -> str:
    """The secret behind `env:NAME`, `file:/path` or `keyring:service/user`.

    Raises:
        ConfigurationError: there is none, or the reference has another form.
    """
    scheme, _, rest = reference.partition(":")
    if scheme == "env":
        if rest not in os.environ:
            raise ConfigurationError(
                f"the secret {reference}", "this environment variable is not set", f"Set it: export {rest}=…"
            )
        return os.environ[rest]
    if scheme == "file":
        try:
            return Path(rest).expanduser().read_text(encoding="utf-8").strip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(f"the secret {reference}", f"its file cannot be read ({error})") from error
    if scheme == "keyring":
        try:
            import keyring
        except ImportError as error:
            raise ConfigurationError(
                f"the secret {reference}", "the keyring package is not installed", "pip install keyring"
            ) from error
        service, _, user = rest.partition("/")
        found = keyring.get_password(service, user)
        if found is None:
            raise ConfigurationError(
                f"the secret {reference}",
                "the keyring holds none under this name",
                f"Store it: keyring set {service} {user}",
            )
        return str(found)
    raise ConfigurationError(
        f"the secret reference {scheme}:…", "has an unknown form", "Use env:NAME, file:/path or keyring:service/user."
    )
