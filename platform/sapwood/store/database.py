"""Opening chunks.db, its migrations, and transactions.

One connection a thread; the writer begins IMMEDIATE, so that a busy database waits (15 s) instead of failing half way.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sapwood.errors import DamagedStoreError, StoreError, WorkspaceBusyError, WorkspaceError
from sapwood.store.schema import MIGRATIONS

if TYPE_CHECKING:
    import apsw

BUSY_TIMEOUT_MS = 15_000
_PRAGMAS = (
    "journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON", "cache_size = -32768", "temp_store = MEMORY",
)  # fmt: skip


def _open_readonly(path: Path) -> apsw.Connection:
    import apsw

    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        connection.execute("PRAGMA user_version").fetchall()
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        # On a disk that cannot be written SQLite cannot make the log's index; nobody else can write there either.
        connection.close()
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        connection = apsw.Connection(f"{path.absolute().as_uri()}?immutable=1", flags=flags)
    return connection


def _fold(*text: Any) -> str:
    from sapwood.text.fold import fold  # its tables are loaded by those who need them

    return fold(str(text[0] or ""))


class Database:
    """A connection to chunks.db with the errors of this project."""

    def __init__(self, connection: apsw.Connection, path: Path) -> None:
        self._connection = connection
        self._has_vectors = False
        self.path = path

    @classmethod
    def open(cls, path: Path, *, readonly: bool = False) -> Database:
        """Open, and when writable create and migrate.

        Raises:
            StoreError: the file is no database, is damaged, or was written by a newer Sapwood.
            WorkspaceError: the disk refuses.
        """
        import apsw

        with _mapped(path):
            if not readonly and not path.exists():
                os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            if readonly:
                connection = _open_readonly(path)
            else:
                connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
            connection.set_busy_timeout(BUSY_TIMEOUT_MS)
            connection.create_scalar_function("fold", _fold, 1, deterministic=True)
            database = cls(connection, path)
            if readonly:
                database._refuse_newer(database.version())
                return database
            for pragma in _PRAGMAS:  # one by one, and each to its end: several in one call stop at the first row
                connection.execute(f"PRAGMA {pragma}").fetchall()
            database._migrate()
        return database

    @classmethod
    def open_other(cls, path: Path) -> Database:
        """Another database of the workspace, to be read; it has no migrations of ours."""
        import apsw

        with _mapped(path):
            connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
            connection.set_busy_timeout(BUSY_TIMEOUT_MS)
            return cls(connection, path)

    def copy_to(self, target: Path) -> None:
        """The whole database as of one moment, into a new file; others may go on writing."""
        import apsw

        os.close(os.open(target, os.O_CREAT | os.O_RDWR, 0o600))
        with _mapped(target):
            copy = apsw.Connection(str(target))
            with copy.backup("main", self._connection, "main") as backup:
                backup.step(-1)
            copy.close()

    def version(self) -> int:
        """The number of the last migration."""
        return int(self.value("PRAGMA user_version"))

    def rows(self, sql: str, bindings: Any = None) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        with _mapped(self.path):
            return self._connection.execute(sql, bindings).fetchall()

    def each(self, sql: str, bindings: Any = None) -> Iterator[tuple[Any, ...]]:
        """The rows of a query, one by one."""
        with _mapped(self.path):
            yield from self._connection.execute(sql, bindings)

    def row(self, sql: str, bindings: Any = None) -> tuple[Any, ...] | None:
        """The first row, or None."""
        with _mapped(self.path):
            return next(iter(self._connection.execute(sql, bindings)), None)

    def value(self, sql: str, bindings: Any = None) -> Any:
        """The first column of the first row, or None."""
        row = self.row(sql, bindings)
        return row[0] if row else None

    def run(self, sql: str, bindings: Any = None) -> int:
        """Execute a statement; the number of changed rows."""
        with _mapped(self.path):
            self._connection.execute(sql, bindings)
            return int(self._connection.changes())

    def run_many(self, sql: str, bindings: list[tuple[Any, ...]]) -> None:
        """Execute a statement for each row of bindings."""
        if bindings:
            with _mapped(self.path):
                self._connection.executemany(sql, bindings)

    @contextlib.contextmanager
    def transaction(self, *, immediate: bool = True) -> Iterator[None]:
        """BEGIN IMMEDIATE … COMMIT; rolled back on any exception.

        IMMEDIATE locks the attached databases too; without it only those are locked that are written to.
        """
        self.run("BEGIN IMMEDIATE" if immediate else "BEGIN")
        try:
            yield
            self.run("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def attach(self, path: Path, name: str) -> None:
        """Make another database's tables known as `name.table`."""
        self.run("ATTACH ? AS " + name, (str(path),))

    def detach(self, name: str) -> None:
        """The inverse of `attach`."""
        self.run("DETACH " + name)

    def load_vector_functions(self) -> None:
        """Make sqlite-vec's functions known to this connection.

        Raises:
            StoreError: the extension cannot be loaded.
        """
        if self._has_vectors:
            return
        import apsw
        import sqlite_vec

        try:
            self._connection.enable_load_extension(True)
            self._connection.load_extension(sqlite_vec.loadable_path())
            self._connection.enable_load_extension(False)
        except apsw.ExtensionLoadingError as error:
            raise StoreError(
                "sqlite-vec", f"cannot be loaded ({error})", "pip install --force-reinstall sqlite-vec"
            ) from error
        self._has_vectors = True

    def last_id(self) -> int:
        """Row id of the last insert."""
        return int(self._connection.last_insert_rowid())

    def close(self) -> None:
        """Close the connection; a last checkpoint truncates the log."""
        self._connection.close()

    def _refuse_newer(self, version: int) -> None:
        if version > len(MIGRATIONS):
            raise StoreError(
                str(self.path),
                f"was written by a newer Sapwood (schema {version}, this one knows {len(MIGRATIONS)})",
                "Update Sapwood.",
            )

    def _migrate(self) -> None:
        version = self.version()
        self._refuse_newer(version)
        if version == len(MIGRATIONS):
            return
        if version:
            self._back_up(version)
        for number in range(version, len(MIGRATIONS)):
            with self.transaction():
                if self.version() != number:  # another process was faster
                    continue
                self.run(MIGRATIONS[number])
                self.run(f"PRAGMA user_version = {number + 1}")

    def _back_up(self, version: int) -> None:
        target = self.path.with_name(f"{self.path.name}.v{version}.backup")
        target.unlink(missing_ok=True)
        self.copy_to(target)


@contextlib.contextmanager
def _mapped(path: Path) -> Iterator[None]:
    import apsw

    try:
        yield
    except apsw.BusyError as error:
        raise WorkspaceBusyError(
            str(path),
            f"was locked by another program for {BUSY_TIMEOUT_MS // 1000} s",
            "Close what has it open and try again.",
        ) from error
    except apsw.FullError as error:
        raise WorkspaceError(
            str(path),
            "there is no space left on its disk",
            "Free some space and run the command again; what was stored is whole.",
        ) from error
    except (apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError) as error:
        raise WorkspaceError(
            str(path),
            f"cannot be opened for this ({error})",
            "Check its permissions, or choose another place with --workspace.",
        ) from error
    except apsw.IOError as error:
        raise WorkspaceError(
            str(path), f"the disk failed ({error})", "Check the disk and its free space, then run the command again."
        ) from error
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise DamagedStoreError(
            str(path), f"is damaged ({error})", "Run `sapwood rebuild`: the vault holds all that is needed."
        ) from error
    except apsw.SQLError as error:
        raise DamagedStoreError(
            str(path), f"does not have the expected tables ({error})", "Run `sapwood rebuild`."
        ) from error
