"""References to secrets, resolved at the last moment and kept nowhere."""

from __future__ import annotations

import os
from pathlib import Path

from sapwood.errors import ConfigurationError


def resolve(reference: str) -> str:
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
