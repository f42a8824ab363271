"""Summaries told anew by a language model, once they stand by choice of sentences: no tree waits for a model.

The lowest come first, since what is above tells of them. A text that cannot be taken leaves the chosen sentences where they are, with the
reason, and is not asked for again until its children change or somebody asks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import tzinfo
from pathlib import PurePosixPath

from sapwood.clock import now
from sapwood.store.database import Database
from sapwood.store.entities import EntityStore, Mention
from sapwood.store.model_use import ModelUseStore
from sapwood.store.summaries import SummaryRow, SummaryStore
from sapwood.store.trees import TreeStore
from sapwood.trees.corrections import Corrections
from sapwood.trees.digest import GLOBAL, Digester
from sapwood.trees.files import put_other_words
from sapwood.trees.model_summariser import ModelSummariser, Rejected, Use
from sapwood.trees.nodes import load_nodes
from sapwood.trees.seal import Sealer, merged_mentions
from sapwood.trees.sentences import Part
from sapwood.workspace import Workspace

__all__ = ["Retelling"]


class Retelling:
    """Asks a model to tell summaries anew.

    Args:
        workspace, database: of the summaries.
        sealer, digester: know what a summary tells of.
        summariser: the model's.
        zone: of the days whose tokens are counted.
    """

    def __init__(
        self,
        workspace: Workspace,
        database: Database,
        sealer: Sealer,
        digester: Digester,
        summariser: ModelSummariser,
        zone: tzinfo,
    ) -> None:
        self._workspace = workspace
        self._db = database
        self._sealer = sealer
        self._digester = digester
        self._summariser = summariser
        self._zone = zone
        self._summaries = SummaryStore(database)

    def parts_of(self, summary: SummaryRow) -> list[Part]:
        """What a summary tells of, as it was given to whoever told it."""
        if summary.tree_kind == GLOBAL:
            return self._digester.parts_of(PurePosixPath(summary.path).stem)
        tree = TreeStore(self._db).tree(summary.tree_id)
        assert tree is not None
        return self._sealer.parts_of(tree, load_nodes(self._db, summary.child_ids))

    def estimate(self, summary: SummaryRow) -> Use:
        """About what telling it would take."""
        return self._summariser.estimate(self.parts_of(summary))

    def cost(self, summary: SummaryRow) -> int:
        """Tokens, read and written, that telling it would take."""
        use = self.estimate(summary)
        return use.read + use.written

    def retell(self, summary: SummaryRow) -> Callable[[], None]:
        """Ask for one summary; what is returned writes the answer, or why it cannot be taken.

        Raises:
            ModelError: the model is down or answers nonsense.
        """
        parts = self.parts_of(summary)
        nodes = load_nodes(self._db, summary.child_ids)
        mentions = merged_mentions(nodes)
        text, why = "", ""
        try:
            text = self._summariser.summarise(parts, [m.surface for m in mentions])
        except Rejected as error:
            why = str(error)
        use = self._summariser.last_use

        def write() -> None:
            day = now().astimezone(self._zone).date().isoformat()
            ModelUseStore(self._db).add(day, self._summariser.name, use.read, use.written)
            held = self._summaries.get(summary.summary_id)
            if held is None or held.stale or held.sha256 != summary.sha256 or self.parts_of(held) != parts:
                return  # it has changed meanwhile, and is asked for again as it is then
            if why:
                self._summaries.set_rejected(summary.summary_id, f"{self._summariser.name}: {why}")
                return
            said = (
                Corrections.of(held.corrections).settled(held.child_ids).applied_to(text, held.child_ids)
                if held.corrections
                else text
            )
            self._put(summary, said, [m for m in mentions if m.surface in said])

        return write

    def _put(self, summary: SummaryRow, text: str, named: Sequence[Mention]) -> None:
        last = summary.range_ms[1] if summary.range_ms else None
        EntityStore(self._db).put(summary.summary_id, "summary", named, last, summary.tree_id)
        ids = tuple(mention.entity_id for mention in named)
        put_other_words(self._workspace, self._db, summary, text, ids, self._summariser.name, summary)
