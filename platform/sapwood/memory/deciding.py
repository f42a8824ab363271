"""What the user decides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sapwood.errors import NotFoundError
from sapwood.memory.base import OpenWorkspace

if TYPE_CHECKING:
    from sapwood.forgetting.choosing import Affected, Choice
    from sapwood.forgetting.undoing import Undone
    from sapwood.ingest.forgotten import Receipt

__all__ = ["Deciding"]


class Deciding(OpenWorkspace):
    """The part of `Memory` that keeps decisions; they stand in the vault and outlive the databases."""

    def merge_entities(self, names: list[str]) -> str:
        """Two or more names stand for one; see `trees.naming.merge_entities`."""
        from sapwood.trees.naming import merge_entities

        with self.workspace.writer_lock(self.settings.lock_wait_seconds):
            return merge_entities(self.workspace, self.database, names)

    def split_entity(self, name: str) -> list[str]:
        """A name stands for itself alone; see `trees.naming.split_entity`."""
        from sapwood.trees.naming import split_entity

        with self.workspace.writer_lock(self.settings.lock_wait_seconds):
            return split_entity(self.workspace, self.database, name)

    def rename_entity(self, name: str, new: str) -> str:
        """Somebody or something is called otherwise; see `trees.naming.rename_entity`."""
        from sapwood.trees.naming import rename_entity

        with self.workspace.writer_lock(self.settings.lock_wait_seconds):
            return rename_entity(self.workspace, self.database, name, new)

    # -- forgetting -----------------------------------------------------------------------------------------------------

    def to_forget(self, target: str | None = None, *, match: str | None = None) -> tuple[Choice, list[Affected]]:
        """What would go if an item, a source, somebody, or a text were forgotten; nothing is changed.

        Args:
            target: the id of an item or chunk, a source's name, or that of a person or thing.
            match: or a text, wherever it stands.

        Raises:
            NotFoundError, ConfigurationError: see `forgetting.choosing.choose`.
        """
        from sapwood.forgetting.choosing import affected_items, choose

        choice = choose(self.database, target, match)
        return choice, list(affected_items(self.database, choice))

    def forget(self, target: str | None = None, *, match: str | None = None, purge: bool = False) -> dict[str, Any]:
        """Forget it: out of items, indexes, vectors, trees, the vault and decisions, and it does not come back with the next sync.

        Args:
            target, match: as for `to_forget`.
            purge: at once and for good; otherwise it can be brought back for `forgotten_days`.

        Returns:
            `receipt` (its number, empty when there was nothing), `counts` of what went, `left`: where it can still be read, such as in notes
            of your own.
        """
        from sapwood.ingest.edits import recover

        with self.workspace.writer_lock(self.settings.lock_wait_seconds):
            recover(self.workspace, self.database)
            self._scan_vault()  # what was edited by hand is seen first
            finished = self._finish_forgetting()
            try:
                choice, affected = self.to_forget(target, match=match)
            except NotFoundError:
                if not finished:
                    raise
                return {"receipt": "", "counts": {}, "purged": purge, "left": []}  # that was it
            return self._forget(choice, affected, purge=purge)

    def _forget(self, choice: Choice, affected: list[Affected], *, purge: bool) -> dict[str, Any]:
        from sapwood.forgetting.acting import Forgetting
        from sapwood.forgetting.choosing import Traces, failed_of
        from sapwood.forgetting.purging import purge as wipe
        from sapwood.forgetting.purging import still_there

        if not (affected or choice.scopes or purge):
            traces = Traces.of(choice, affected, failed_of(self.database, choice))
            left = still_there(self.workspace, self.database, traces.hold, only_notes=True)
            return {"receipt": "", "counts": {}, "purged": purge, "left": left}
        forgetting = Forgetting(self.workspace, self.database, self.zone, self.settings.owner)
        outcome = forgetting.forget(choice, affected, keep=not purge)
        left = wipe(self.workspace, self.database, outcome.number, outcome.traces) if purge else []
        left += still_there(self.workspace, self.database, outcome.traces.hold, only_notes=not purge)
        return {"receipt": outcome.number, "counts": outcome.counts, "purged": purge, "left": left}

    def _finish_forgetting(self) -> int:
        """What was interrupted is done to the end; how many receipts. The caller holds the writer lock."""
        from sapwood.forgetting.choosing import Choice, affected_items
        from sapwood.ingest.forgotten import Forgotten

        begun = [r for r in Forgotten(self.workspace).receipts() if r.state == "begun" and r.choice is not None]
        for receipt in begun:
            assert receipt.choice is not None
            choice = Choice.from_json(receipt.choice)
            keep = bool(receipt.choice.get("keep"))
            self._forget(choice, list(affected_items(self.database, choice)), purge=not keep)
            Forgotten(self.workspace).settle(receipt.number, "kept" if keep else "purged")
        return len(begun)

    def finish_forgetting(self) -> None:
        """Do to the end what was interrupted."""
        with self.workspace.writer_lock(self.settings.lock_wait_seconds):
            self._finish_forgetting()

    def purge_receipt(self, receipt: str) -> list[str]:
        """Let go for good of what a receipt keeps; where it can still be read."""
        from sapwood.forgetting.undoing import purge_receipt

        with self.workspace.writer_lock(self.settings.lock_wait_seconds):
            return purge_receipt(self.workspace, self.database, receipt)

    def forgotten(self) -> list[Receipt]:
        """Everything that was forgotten; those in the state `kept` can be brought back."""
        from sapwood.forgetting.undoing import receipts

        return receipts(self.workspace)

    def remember(self, receipt: str) -> Undone:
        """Bring back what a receipt took; see `forgetting.undoing.undo`."""
        from sapwood.forgetting.undoing import undo

        with self.workspace.writer_lock(self.settings.lock_wait_seconds):
            return undo(self.workspace, self.database, receipt, self.zone, self.settings.owner)
