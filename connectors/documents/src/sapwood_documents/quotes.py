"""Quotations in mails, in English and Chinese: what is quoted is marked as a quotation and stays where it is.

Line by line and without a pattern that spans lines, so that no mail can make it hang. Where it is in doubt, nothing is
marked.
"""

from __future__ import annotations

import re

__all__ = ["mark_quotations"]

_LONGEST = 500  # characters of a line that are looked at
_ATTRIBUTION = re.compile(
    r"^\s*(?:On\b.{4,300}\bwrote|Le\b.{4,300}a écrit|Am\b.{4,300}schrieb.{0,80}|(?:在|于).{4,300}写道|.{0,200}\d.{0,80}(?:写道|wrote))\s?[:：]\s*$",
    re.IGNORECASE,
)
_DIVIDER = re.compile(
    r"^\s*(?:[-_—=]{2,}\s*(?:Original Message|Original Appointment|Forwarded message|Forwarded by .{1,80}|原始邮件|原邮件|转发邮件|转发的邮件|邮件原件)\s*[-_—=]{2,}|_{20,})\s*$",
    re.IGNORECASE,
)
_HEADER = re.compile(
    r"^[\s>*_]*(From|Sent|Date|To|Cc|Subject|发件人|发送时间|发送日期|日期|时间|收件人|抄送|主题)[*_\s]*[:：]",
    re.IGNORECASE,
)
_OPENING = ("from", "发件人")


def mark_quotations(text: str) -> str:
    """The text with `> ` before each line of what is quoted below it, where the mail itself has not set it."""
    lines = text.split("\n")
    start = _quotation(lines)
    if start is None:
        return text
    return "\n".join([*lines[:start], *(f"> {line}".rstrip() for line in lines[start:])])


def _quotation(lines: list[str]) -> int | None:
    """Where a quotation begins that is not marked; None when there is none, or only an attribution of marked lines."""
    for number, line in enumerate(lines):
        short = line[:_LONGEST]
        if short.lstrip().startswith(">"):
            continue
        if _DIVIDER.match(short):
            return number if _says_something(lines[number + 1 :]) else None
        if _ATTRIBUTION.match(short) or (
            _starts_attribution(short) and _ATTRIBUTION.match(f"{short} {_next(lines, number)}")
        ):
            after = next((following for following in lines[number + 1 :] if following.strip()), "")
            after = (
                next((f for f in lines[number + 2 :] if f.strip()), "")
                if after.rstrip().endswith((":", "："))
                else after
            )
            return None if after.lstrip().startswith(">") or not after else number
        if _is_header_block(lines, number):
            return number
    return None


def _starts_attribution(line: str) -> bool:
    """An attribution is often broken over two lines."""
    return line.startswith(("On ", "在", "于")) and not line.rstrip().endswith((".", "。"))


def _next(lines: list[str], number: int) -> str:
    return lines[number + 1][:_LONGEST] if number + 1 < len(lines) else ""


def _is_header_block(lines: list[str], number: int) -> bool:
    """`From:` followed within five lines by two more headers of a mail."""
    first = _HEADER.match(lines[number][:_LONGEST])
    if not first or first[1].lower() not in _OPENING:
        return False
    following = [line for line in lines[number + 1 : number + 10] if line.strip()][:5]
    names = {match[1].lower() for line in following if (match := _HEADER.match(line[:_LONGEST]))}
    return len(names) >= 2


def _says_something(lines: list[str]) -> bool:
    return any(line.strip() for line in lines)
