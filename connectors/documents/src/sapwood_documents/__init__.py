"""Sapwood's own converters: Word, PDF, Markdown, JSON, text, HTML and archives to segments of Markdown.

Each parser is imported when the first file of its kind arrives.
"""

from __future__ import annotations

from importlib import import_module

from sapwood.sdk import Converted, ConvertFile, hookimpl

_BY_EXTENSION = {
    "docx": "word", "docm": "word", "dotx": "word",
    "pdf": "pdf",
    "md": "markdown", "markdown": "markdown", "mdown": "markdown", "mkd": "markdown",
    "json": "structured", "jsonl": "structured", "ndjson": "structured",
    "html": "html", "htm": "html", "xhtml": "html",
    "zip": "archive", "gz": "archive",
    **dict.fromkeys(
        ["txt", "text", "log", "rst", "org", "adoc", "asciidoc", "tex", "csv", "tsv", "ini", "cfg", "conf", "yaml", "yml", "toml", "xml", "py", "js", "ts", "c", "h", "cc", "cpp", "hpp", "java", "go", "rs", "sh", "pl", "rb", "sql", "css", "po", "diff", "patch", "bib", "news", "readme", "changelog", "nfo"],
        "plain",
    ),
}  # fmt: skip

# Text by its bytes, yet not for reading as it stands: formats that want a reader of their own, drawings, keys.
_NOT_PLAIN = frozenset(
    ["eml", "mbox", "mbx", "msg", "ics", "vcf", "rtf", "ipynb", "opml", "srt", "vtt", "enex", "fodt", "fods", "mht", "mhtml", "svg", "ps", "eps", "ai", "dxf", "pem", "crt", "cer", "csr", "key", "p7s", "pptx", "ppt", "xlsx", "xls", "xlsm", "doc", "odt", "ods", "odp", "epub", "p12", "pfx", "ppk", "gpg", "sig", "map", "lock"]
)  # fmt: skip


@hookimpl
def convert(file: ConvertFile) -> Converted | None:
    """Read the file when its extension is one of ours."""
    module = _BY_EXTENSION.get(file.extension)
    if module is None:
        return None
    found: Converted | None = import_module(f"sapwood_documents.{module}").convert(file)
    return found


@hookimpl(specname="convert", trylast=True)
def convert_any_text(file: ConvertFile) -> Converted | None:
    """Any other file, or one without extension (`README.Debian`, `LICENSE`), when it is text and no plugin took it."""
    if file.extension in _NOT_PLAIN or file.extension in _BY_EXTENSION:
        return None
    plain = import_module("sapwood_documents.plain")
    found: Converted | None = plain.convert(file) if plain.looks_like_text(file.path) else None
    return found
