"""Summaries told anew by the language model of the settings, one a job; a model that is down or too dear today only makes them wait."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, tzinfo

from sapwood.clock import now, now_ms, to_ms, zone
from sapwood.config import Settings, load_settings
from sapwood.errors import ConfigurationError
from sapwood.ingest.followup import retelling
from sapwood.jobs.outcome import Defer, Done, Outcome
from sapwood.models.http import ModelMisconfigured, ModelRefused, ModelUnavailable
from sapwood.models.language import LanguageModel, open_language_model
from sapwood.pipeline.chunk_jobs import until_available
from sapwood.store.database import Database
from sapwood.store.jobs import JobStore
from sapwood.store.model_use import ModelUseStore
from sapwood.store.summaries import SummaryStore
from sapwood.trees.digest import Digester
from sapwood.trees.model_summariser import ModelSummariser
from sapwood.trees.retelling import Retelling
from sapwood.trees.seal import Sealer
from sapwood.trees.summarising import EXTRACTIVE, Extractive
from sapwood.workspace import Workspace

__all__ = ["BY_MODEL", "Reteller", "open_retelling", "required_model"]

BY_MODEL = "model"
_WRONG_MS = 600_000


class Reteller:
    """What the handler of `seal` does with a job that asks for a model's words."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._opened: tuple[Settings, LanguageModel] | None = None

    def __call__(self, database: Database) -> Outcome:
        """Tell the next summary; done when there is none, or none is asked for."""
        settings = load_settings(self._workspace.config_file)
        if settings.summariser != BY_MODEL:
            return Done()
        summary = SummaryStore(database).next_to_retell(EXTRACTIVE)
        if summary is None:
            return Done()
        try:
            model = self._model(settings)
        except ConfigurationError as error:
            return Defer(now_ms() + _WRONG_MS, str(error))
        days = zone(settings.timezone)
        told = open_retelling(self._workspace, database, model, settings)
        cap = settings.summary_tokens_per_day
        cost = told.cost(summary) if cap else 0
        if cap and cost > cap:  # it would wait for ever, and others behind it
            reason = f"{model.name}: it would cost about {cost} tokens, more than the {cap} of a day"
            return Done(_and_go_on(database, lambda: SummaryStore(database).set_rejected(summary.summary_id, reason)))
        if cap and _used(database, days) + cost > cap:
            return Defer(
                _midnight_ms(days),
                f"the {cap} tokens that summaries may cost a day (summary_tokens_per_day) are used up for today",
            )
        try:
            write = told.retell(summary)
        except ModelUnavailable as error:
            return until_available(error)
        except ModelRefused as error:  # this one text; others may do
            refused = f"{model.name}: {error.cause}"

            def write() -> None:
                SummaryStore(database).set_rejected(summary.summary_id, refused)
        except ModelMisconfigured as error:
            return Defer(now_ms() + _WRONG_MS, str(error))
        return Done(_and_go_on(database, write))

    def close(self) -> None:
        """Let go of the model."""
        if self._opened is not None:
            self._opened[1].close()
            self._opened = None

    def _model(self, settings: Settings) -> LanguageModel:
        if self._opened is None or self._opened[0] != settings:
            self.close()
            self._opened = (settings, required_model(settings))
        return self._opened[1]


def _and_go_on(database: Database, write: Callable[[], None]) -> Callable[[], None]:
    def both() -> None:
        write()
        JobStore(database).enqueue([retelling()], now_ms())

    return both


def required_model(settings: Settings) -> LanguageModel:
    """The language model of the settings.

    Raises:
        ConfigurationError: there is none, or its name, address or key is wrong.
    """
    model = open_language_model(settings)
    if model is None:
        raise ConfigurationError(
            "language_model",
            "is none: there is no model that could tell summaries",
            'Set it in config.toml, and summariser = "model".',
        )
    return model


def open_retelling(workspace: Workspace, database: Database, model: LanguageModel, settings: Settings) -> Retelling:
    """What asks a model for summaries."""
    days = zone(settings.timezone)
    sealer = Sealer(workspace, database, Extractive(), days)
    digester = Digester(workspace, database, Extractive(), days)
    return Retelling(workspace, database, sealer, digester, ModelSummariser(model, settings.summary_context), days)


def _used(database: Database, days: tzinfo) -> int:
    _, read, written = ModelUseStore(database).of_day(now().astimezone(days).date().isoformat())
    return read + written


def _midnight_ms(days: tzinfo) -> int:
    tomorrow = now().astimezone(days).date() + timedelta(days=1)
    return to_ms(datetime(tomorrow.year, tomorrow.month, tomorrow.day, tzinfo=days))
