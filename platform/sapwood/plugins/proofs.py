"""What the conformance kit found of plugins on this machine, so that their list can show it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from sapwood.workspace import Workspace, write_atomically

__all__ = ["INSTALLED_VARIABLE", "Proof", "proof_of", "put_proof"]

INSTALLED_VARIABLE = "SAPWOOD_KIT_INSTALLED"
"""Names the folder in which the package lies that is tried; with `_FROM` behind it, that of its sources."""
_FILE = "kit.json"


@dataclass(frozen=True, slots=True)
class Proof:
    """How many of the kit's checks a version of a distribution passed, of those that were tried."""

    kit: str
    version: str
    passed: int
    tried: int

    def __str__(self) -> str:
        return f"kit {self.kit}: {self.passed}/{self.tried}"


def put_proof(workspace: Workspace, distribution: str, proof: Proof) -> None:
    """Keep it, in place of an older one.

    Raises:
        WorkspaceError: the disk refuses.
    """
    known = _read(workspace) | {distribution: asdict(proof)}
    write_atomically(workspace.plugins / _FILE, json.dumps(known, indent=1, sort_keys=True) + "\n")


def proof_of(workspace: Workspace, distribution: str, version: str) -> Proof | None:
    """What was found of this very version."""
    try:
        proof = Proof(**_read(workspace)[distribution])
    except (KeyError, TypeError):
        return None
    return proof if proof.version == version else None


def _read(workspace: Workspace) -> dict[str, Any]:
    try:
        found = json.loads((workspace.plugins / _FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
