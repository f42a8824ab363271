"""Sapwood's own converters: office documents, PDF, mail, Markdown, JSON, text, HTML, archives and more to segments of Markdown.

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
    "csv": "tables", "tsv": "tables", "xlsx": "tables", "xlsm": "tables", "xlsb": "tables", "xls": "tables", "ods": "tables",
    "pptx": "slides", "pptm": "slides", "odt": "opendocument", "odp": "opendocument", "rtf": "rtf",
    "eml": "mail", "mbox": "mbox", "mbx": "mbox", "dat": "tnef",
    "srt": "transcripts", "vtt": "transcripts", "opml": "outline", "ipynb": "notebook",
    **dict.fromkeys(
        ["txt", "text", "log", "rst", "org", "adoc", "asciidoc", "tex", "ini", "cfg", "conf", "yaml", "yml", "toml", "xml", "py", "js", "ts", "c", "h", "cc", "cpp", "hpp", "java", "go", "rs", "sh", "pl", "rb", "sql", "css", "po", "diff", "patch", "bib", "news", "readme", "changelog", "nfo"],
        "plain",
    ),
}  # fmt: skip

# Text by its bytes, yet not for reading as it stands: formats that want a reader of their own, drawings, keys.
_NOT_PLAIN = frozenset(
    ["msg", "ics", "vcf", "enex", "fodt", "fods", "mht", "mhtml", "svg", "ps", "eps", "ai", "dxf", "pem", "crt", "cer", "csr", "key", "p7s", "ppt", "doc", "epub", "p12", "pfx", "ppk", "gpg", "sig", "map", "lock"]
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
    if file.extension in _NOT_PLAIN or (file.extension in _BY_EXTENSION and file.extension != "dat"):
        return None
    plain = import_module("sapwood_documents.plain")
    found: Converted | None = plain.convert(file) if plain.looks_like_text(file.path) else None
    return found
