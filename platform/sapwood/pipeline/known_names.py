"""The people that the store knows by name, looked for in every text."""

from __future__ import annotations

import threading
import time
from typing import Any

from sapwood.store.database import Database
from sapwood.store.identities import IdentityStore

__all__ = ["KnownNames"]

_FRESH_SECONDS = 5.0
_SHORTEST = 2


class KnownNames:
    """An automaton over all names; made anew when there are more of them, looked at every few seconds.

    Names that are learnt later are found in texts that come later.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._automaton: Any = None
        self._count = -1
        self._looked = 0.0

    def within(self, text: str, database: Database) -> list[str]:
        """The known names that stand in a text, each once."""
        automaton = self._fresh(database)
        if automaton is None:
            return []
        return list(dict.fromkeys(automaton.find_matches_as_strings(text, overlapping=True)))

    def _fresh(self, database: Database) -> Any:
        with self._lock:
            moment = time.monotonic()
            if self._count >= 0 and moment - self._looked < _FRESH_SECONDS:
                return self._automaton
            self._looked = moment
            store = IdentityStore(database)
            count = store.people_count()
            if count != self._count:
                import ahocorasick_rs

                names = [name for name in store.people_names() if len(name) >= _SHORTEST]
                self._automaton = ahocorasick_rs.AhoCorasick(names) if names else None
                self._count = count
            return self._automaton
