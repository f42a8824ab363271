"""What the commands share: output, errors, exit codes, logging."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

import click

from sapwood.errors import SapwoodError
from sapwood.workspace import FILE_MODE, Workspace

DONE, COULD_NOT_RUN, USAGE, DONE_WITH_FAILURES, INTERRUPTED = 0, 1, 2, 3, 130


def prepare_streams() -> None:
    """A console that cannot show a character shows its code instead of ending the program; errors are not logged to it."""
    logging.getLogger("sapwood").addHandler(logging.NullHandler())
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def print_json(data: Any) -> None:
    """One JSON object on stdout. ASCII only where the console is not UTF-8."""
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    json.dump(data, sys.stdout, ensure_ascii=not utf8, indent=2)
    sys.stdout.write("\n")


def counted(number: int, name: str) -> str:
    """`1 item`, `2 items`; a name that is given in the plural loses its s for one."""
    name = name.removesuffix("s")
    return f"{number} {name}{'s' * (number != 1)}"


def say(text: str = "") -> None:
    """A line for people."""
    click.echo(text)


def leave_at_once(code: int) -> NoReturn:
    """End the program without freeing what it holds: the table of tokens alone would take a tenth of a second."""
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # its reader has gone
            stream.flush()
    os._exit(code)


@contextmanager
def errors_to_exit_codes(*, as_json: bool, debug: bool) -> Iterator[None]:
    """Errors become one readable paragraph and exit code 1; `--debug` shows where they came from.

    With `--json` the paragraph goes to stderr and a JSON object with `error` to stdout.
    """
    from sapwood.sdk.errors import ConnectorError

    try:
        yield
    except (click.exceptions.Exit, click.BadParameter):
        raise  # already what it shall be; click's exit is a RuntimeError
    except (SapwoodError, ConnectorError) as error:
        if debug:
            raise
        fail(str(error), as_json=as_json)
    except (KeyboardInterrupt, click.Abort):
        click.echo("Stopped. What was committed stays; run it again to go on.", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader has gone; nothing is left to say
        raise click.exceptions.Exit(DONE) from None
    except (OSError, RuntimeError, ValueError, MemoryError) as error:
        if debug:
            raise
        logging.getLogger("sapwood").exception("unexpected error")
        fail(
            f"Something went wrong that Sapwood did not expect ({type(error).__name__}: {error}). Run it again with --debug and report what it shows.",
            as_json=as_json,
        )


def fail(message: str, *, as_json: bool) -> NoReturn:
    """Print why the command could not run and leave with exit code 1."""
    from sapwood.text.redact import Redaction

    text = Redaction().message(message)
    if as_json:
        print_json({"error": text})
    click.echo(text, err=True)
    raise click.exceptions.Exit(COULD_NOT_RUN)


class _RedactingFormatter(logging.Formatter):
    def __init__(self, redact: Callable[[str], str]) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        return self._redact(super().format(record))


class _LogFile(logging.Handler):
    """Opens the file with the first record: most commands have nothing to log, and the handlers take long to import."""

    def __init__(self, file: Path, formatter: logging.Formatter) -> None:
        super().__init__()
        self._file = file
        self._rotating: logging.Handler | None = None
        self.setFormatter(formatter)

    def emit(self, record: logging.LogRecord) -> None:
        try:
            if self._rotating is None:
                from logging.handlers import RotatingFileHandler

                os.close(os.open(self._file, os.O_CREAT | os.O_APPEND | os.O_WRONLY, FILE_MODE))
                self._rotating = RotatingFileHandler(self._file, maxBytes=5_000_000, backupCount=3, encoding="utf-8")
                self._rotating.setFormatter(self.formatter)
        except OSError:
            return
        self._rotating.handle(record)


def start_logging(workspace: Workspace) -> None:
    """Warnings and errors go to `logs/sapwood.log`, rotated at 5 MB, redacted, 0600; nothing when it cannot be written."""
    from sapwood.text.redact import Redaction

    if not workspace.logs.is_dir():
        return
    handler = _LogFile(workspace.logs / "sapwood.log", _RedactingFormatter(Redaction().message))
    logger = logging.getLogger("sapwood")
    logger.setLevel(logging.INFO)
    logger.handlers = [handler]
    logger.propagate = False
