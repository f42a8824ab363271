"""An examination that hangs, ends its process or eats memory over certain texts, as a broken parser would."""

from __future__ import annotations

import os

from sapwood.pipeline.examine import Examination, Subject, examine


def poisoned(subject: Subject) -> Examination:
    """The real examination, but for three words."""
    if "POISON-HANG" in subject.text:
        while True:
            pass
    if "POISON-EXIT" in subject.text:
        os._exit(7)
    if "POISON-MEMORY" in subject.text:
        bytearray(8 << 30)
    return examine(subject)
