"""Who is who: ids that stand for the same person or thing, by an item's metadata and by what the user decided.

An alias points from one id to another; the ids that are joined so are a *group*, and the one that points to no other is its
*head*. What the user decided is never changed by metadata.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from sapwood.store.database import Database
from sapwood.text.entities import canonical_id

__all__ = ["PEOPLE", "IdentityStore"]

PEOPLE = ("person", "email", "handle")
_KINDS = ("person", "organization", "location", "product", "event", "technology", "artifact", "misc", "topic", "email", "handle", "hashtag", "url")  # fmt: skip
_GROUP = (
    "WITH RECURSIVE same (id) AS (SELECT value FROM json_each(?1) "
    "UNION SELECT a.entity_id FROM same s JOIN mem_tree_entity_aliases a ON a.alias_id = s.id WHERE a.entity_id != '' "
    "UNION SELECT a.alias_id FROM same s JOIN mem_tree_entity_aliases a ON a.entity_id = s.id) "
)


class IdentityStore:
    """Queries over one connection; the caller holds the transaction where it writes."""

    def __init__(self, database: Database) -> None:
        self._db = database

    # -- asking -------------------------------------------------------------------------------------------------------

    def group(self, entity_ids: Iterable[str]) -> list[str]:
        """These ids and all that stand for the same, sorted."""
        rows = self._db.rows(_GROUP + "SELECT id FROM same ORDER BY id", (_json(entity_ids),))
        return [row[0] for row in rows]

    def head(self, entity_id: str) -> str:
        """The id by which the group of an id is called. Where aliases lead in a circle, the first of them in order."""
        seen = [entity_id]
        while (above := self._alias(seen[-1])) is not None:
            if above in seen:
                return min(seen[seen.index(above) :])
            seen.append(above)
        return seen[-1]

    def resolve(self, name: str) -> list[str]:
        """The ids in the index of everybody and everything that is called so, with all that stand for the same; sorted."""
        rows = self._db.rows(
            _GROUP
            + "SELECT id FROM same WHERE EXISTS (SELECT 1 FROM mem_tree_entity_index e WHERE e.entity_id = same.id) ORDER BY id",
            (_json(self.called(name)),),
        )
        return [row[0] for row in rows]

    def called(self, name: str) -> list[str]:
        """Ids that a name may be: of every kind, or those of the only person whose first or last name it is."""
        wanted = [canonical_id(kind, name) for kind in _KINDS]
        if ":" in name:
            wanted.append(name.lower())
        return [*wanted, *self._full_names(name)]

    def name_of(self, entity_id: str) -> str:
        """How a group is called: as the user calls it, else as it is most often written, people by a name before an address."""
        ids = _json(self.group([entity_id]))
        given = self._db.value(
            "SELECT name FROM mem_tree_entity_names WHERE entity_id IN (SELECT value FROM json_each(?)) ORDER BY entity_id LIMIT 1",
            (ids,),
        )
        if given:
            return str(given)
        # The newest thousand mentions say it as well as all.
        written = self._db.value(
            "SELECT surface FROM (SELECT surface, entity_kind FROM mem_tree_entity_index WHERE entity_id IN (SELECT value FROM json_each(?)) "
            "AND node_kind = 'leaf' LIMIT 1000) GROUP BY surface ORDER BY max(entity_kind IN ('email', 'handle', 'url')), count(*) DESC, surface LIMIT 1",
            (ids,),
        )
        return str(written) if written else entity_id.partition(":")[2]

    def _alias(self, entity_id: str) -> str | None:
        found = self._db.value("SELECT entity_id FROM mem_tree_entity_aliases WHERE alias_id = ?", (entity_id,))
        return str(found) if found else None

    def _full_names(self, name: str) -> list[str]:
        """The person whose first or last name this is; nobody when there are several."""
        word = " ".join(name.lower().split())
        if not word or " " in word or ":" in word:
            return []
        like = word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        rows = self._db.rows(
            "SELECT DISTINCT entity_id FROM mem_tree_entity_index WHERE entity_kind = 'person' AND (entity_id LIKE ?1 ESCAPE '\\' OR entity_id LIKE ?2 ESCAPE '\\') LIMIT 50",
            (f"person:{like} %", f"person:% {like}"),
        )
        found = [row[0] for row in rows]
        return found if len({self.head(entity_id) for entity_id in found}) == 1 else []

    # -- metadata -------------------------------------------------------------------------------------------------------

    def add_people(self, people: Iterable[Any]) -> None:
        """Names and addresses out of an item's metadata; a name with one address only is an alias of the address.

        The outcome does not depend on the order in which items come.
        """
        for person in people:
            name, address = (" ".join(str(value or "").split()) for value in (person.name, person.address))
            if (
                not name
                or self._db.run("INSERT OR IGNORE INTO mem_tree_people (name, address) VALUES (?, ?)", (name, address))
                == 0
            ):
                continue
            if address:
                # A second address makes the name ambiguous: then it stands for nobody in particular.
                self._db.run(
                    "INSERT INTO mem_tree_entity_aliases (alias_id, entity_id, origin) VALUES (?, ?, 'metadata') ON CONFLICT (alias_id) DO UPDATE "
                    "SET entity_id = '' WHERE origin = 'metadata' AND entity_id != excluded.entity_id",
                    (canonical_id("person", name), canonical_id("email", address)),
                )

    def people_count(self) -> int:
        """How many pairs of name and address there are."""
        return int(self._db.value("SELECT count(*) FROM mem_tree_people"))

    def people_names(self) -> list[str]:
        """Every name that an item's metadata gave, sorted."""
        return [row[0] for row in self._db.rows("SELECT DISTINCT name FROM mem_tree_people ORDER BY name")]

    # -- the user's decisions -------------------------------------------------------------------------------------------

    def merge(self, entity_ids: list[str]) -> list[tuple[str, str]]:
        """These, and all that stand for the same as one of them, are one, called as the first one is; the aliases that say so."""
        target = self.head(entity_ids[0])
        made: list[tuple[str, str]] = []
        for entity_id in entity_ids[1:]:
            other = self.head(entity_id)
            if other != target:
                made.append((other, target))
                self.decide(other, target)
                self._db.run("DELETE FROM mem_tree_entity_names WHERE entity_id = ?", (other,))
        return made

    def split(self, entity_ids: list[str]) -> list[tuple[str, str]]:
        """These ids stand for themselves alone from now on, each of them; the aliases that say so."""
        made: list[tuple[str, str]] = []
        for entity_id in entity_ids:
            rows = self._db.rows(
                "SELECT alias_id FROM mem_tree_entity_aliases WHERE entity_id = ? ORDER BY alias_id", (entity_id,)
            )
            pointing = [row[0] for row in rows]
            # Those that were joined by it stay joined: by what it pointed to, else by the first of them.
            stay = self._alias(entity_id) or (pointing[0] if pointing else "")
            made += [(alias, "" if alias == stay else stay) for alias in pointing] + [(entity_id, "")]
            for alias_id, above in made:
                self.decide(alias_id, above)
        return made

    def rename(self, entity_id: str, name: str) -> None:
        """A group is called so, and found by that name."""
        head = self.head(entity_id)
        self._db.run("DELETE FROM mem_tree_entity_names WHERE entity_id IN (SELECT value FROM json_each(?))", (_json(self.group([head])),))  # fmt: skip
        self._db.run("INSERT INTO mem_tree_entity_names (entity_id, name) VALUES (?, ?)", (head, name))
        kind = head.partition(":")[0]
        alias = canonical_id("person" if kind in PEOPLE else kind, name)
        if self.head(alias) != head:
            self.decide(alias, head)

    def decide(self, alias_id: str, entity_id: str) -> None:
        """An id stands for another one by the user's word, or with an empty one for itself."""
        self._db.run(
            "INSERT INTO mem_tree_entity_aliases (alias_id, entity_id, origin) VALUES (?, ?, 'user') "
            "ON CONFLICT (alias_id) DO UPDATE SET entity_id = excluded.entity_id, origin = 'user'",
            (alias_id, entity_id),
        )


def _json(values: Iterable[str]) -> str:
    return json.dumps(list(values), ensure_ascii=False)
