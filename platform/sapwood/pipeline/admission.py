"""The deep score of a chunk: whether it is worth remembering beyond its own text.

The signals, weights and thresholds are the specification's. Two signals are calibrated, since with their plain values no
acknowledgement falls below the lower threshold and nothing useful reaches the upper one: the constants of kind and source
count only as far as the text says something (its *substance*), and where nothing is known of an interaction, what a text
is about takes its place (its *salience*: dates, amounts, people, decisions, reasons).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sapwood.ingest.score import (
    INTERACTION,
    METADATA,
    SOURCE,
    WEIGHTS,
    density_signal,
    length_signal,
    variety_signal,
    weighted_mean,
)  # fmt: skip
from sapwood.sdk.sources import Kind
from sapwood.text.entities import Entity

__all__ = [
    "DEFINITE_DROP",
    "DEFINITE_KEEP",
    "DROP",
    "IMPORTANCE_WEIGHT",
    "WEIGHTS",
    "Assessment",
    "assess",
    "with_importance",
]

IMPORTANCE_WEIGHT = 2.0
DROP, DEFINITE_KEEP, DEFINITE_DROP = 0.30, 0.85, 0.15

_PROVIDER = {
    "meeting_notes": 0.85, "gmail": 0.80, "whatsapp": 0.75, "notion": 0.75, "other_email": 0.70, "telegram": 0.60, "drive_docs": 0.60,
    "discord": 0.50,
}  # fmt: skip
# Somebody made a document of it, or a mail, however short it is.
_FLOOR = {Kind.DOCUMENT: 0.7, Kind.EMAIL: 0.4, Kind.CHAT: 0.0}
_FULL_SUBSTANCE = 12  # words that say something; a sentence has about so many
_START, _SAMPLE = 120, 500  # characters that tell whether a text says something at all; most do at once
_LIFT = 0.6  # how far substance lifts a constant towards 1

_FILLERS = frozenset(
    """ok okay k kk sure yes yep yup yeah ya no nope thanks thank you thx ty np pls please welcome got it noted will do on
cool great nice one lol haha hahaha hmm oh ah wow done sounds good to me perfect awesome same here too agreed exactly
right true morning all hi hello hey everyone bye see tomorrow night have a weekend congrats congratulations happy
birthday brb afk back i'm i im sec just moment wait sorry my bad worries never mind nvm fine by works for looks lgtm
ack roger copy that understood makes sense interesting what really huh test testing so much very problem thing you're
youre that's thats funny an the is are be ll well any""".split()  # noqa: SIM905
)
_CHINESE_FILLERS = re.compile(
    "|".join(
        sorted(
            """好的 好哒 好呀 好滴 好 嗯 哦 噢 行吧 行 可以的 可以 没问题 没事 没关系 收到 谢谢 多谢 感谢 谢啦
不客气 辛苦了 辛苦啦 辛苦 哈 嘿 呵 笑死 厉害了 厉害 牛逼 牛 真赞 赞 太棒了 棒 真好 不错 恭喜 生日快乐
新年快乐 早上好 大家早 早 晚安 你好 您好 在吗 在的 在 来了 我来了 到了 稍等 等一下 马上来 马上 知道了
明白了 明白 了解 懂了 同意 我也是 对的 对 是的 不是 是 没有 不用了 算了 真的吗 再见 拜拜 回头聊 明天见
周末愉快 欢迎 测试 啊 呀 吧 呢 吗 啦 了 的""".split(),  # noqa: SIM905
            key=lambda word: -len(word),
        )
    )
)
_SYSTEM_LINE = re.compile(
    r"(?:has |have )?(?:joined|left) (?:the )?(?:channel|group|chat|room|call)\b|(?:was|were) added to (?:the )?(?:channel|group)|"
    r"set the (?:channel )?(?:topic|description)|renamed the (?:channel|group)|pinned a message|message was deleted|"
    r"(?:started|ended|missed) a (?:video )?call\b|\bcall (?:has )?ended|changed the group|"
    r"(?:加入|退出|离开)了?(?:群聊|频道|群组)|邀请.{1,40}加入了?(?:群聊|频道)|撤回了?一条消息|修改了?群名|修改群名|通话(?:已)?结束|现在可以开始聊天了",
    re.IGNORECASE,
)
# Without one of these there is no such line: looking for them costs a hundredth.
_SYSTEM_SIGNS = (
    "joined", "left", "added to", "set the", "renamed", "pinned a", "deleted", " call", "Call ", "changed the", "群聊", "频道", "群组", "撤回", "群名", "通话", "聊天了",
)  # fmt: skip
_EMOTE = re.compile(r"\[[^\[\]\s]{1,6}\]|[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f\u200d]+")
_LATIN = re.compile(r"[^\W\d_\u3400-\u9fff\u3040-\u30ff\uac00-\ud7af][\w'’-]*")
_CJK = re.compile(r"[\u3400-\u9fff\u3040-\u30ff\uac00-\ud7af]")
_NUMBER = re.compile(r"\d")
_CJK_A_WORD = 1.7  # characters a Chinese word has on average

# What a text speaks of, by its words: English ones as a pattern, Chinese ones each.
_CUES = {
    "decision": (
        re.compile(
            r"\b(?:decid|decision|agree[ds]?\b|approv|promis|voted|chose|chosen|must\b|has to\b|have to\b|needs? to\b|required?|will (?:be|not|pay|send|call|ship|use)|"
            r"deadline|due\b|own(?:er|s)\b|assigned|responsible|plan(?:s|ned)?\b|next steps?|recommend|conclu|offer|policy|rule)"
        ),
        "决定 结论 商定 约定 谈妥 同意由 通过 批准 批下来 必须 需要 要求 负责 截止 之前 计划 安排 下一步 建议 规定 制度 答应 报价".split(),  # noqa: SIM905
    ),
    "reason": (
        re.compile(
            r"\b(?:because|cause[ds]?\b|reason|therefore|otherwise|since\b|so that|why\b|lesson|result|found|fail|broke|crash|fix|bug|root cause|compar)"
        ),
        "因为 原因 所以 否则 由于 导致 结果 发现 失败 修复 故障 经验 对比 显示".split(),  # noqa: SIM905
    ),
    "instruction": (
        re.compile(
            r"\b(?:steps?|first|then|before|after|until|how to|instruction|checklist|recipe|run|install|restart|stop|start|bring|switch|call|take)\b"
        ),
        "步骤 然后 先 再 之后 直到 方法 说明 清单 配方 执行 安装 重启 带 拨打".split(),  # noqa: SIM905
    ),
}
_LATIN_WORD = re.compile(r"[a-z]{3}")


@dataclass(frozen=True, slots=True)
class Assessment:
    """What came of a chunk: the total and every signal, each 0 to 1, and the verdict with its reason."""

    total: float
    signals: dict[str, float]
    cues: tuple[str, ...]
    dropped: bool
    reason: str

    @property
    def band(self) -> str:
        """`keep`, `drop`, or `grey` between the two thresholds, where a model may be asked."""
        return "keep" if self.total >= DEFINITE_KEEP else "drop" if self.total <= DEFINITE_DROP else "grey"


def assess(
    kind: Kind, text: str, terms: Sequence[str], tokens: int, tags: Sequence[str], entities: Sequence[Entity]
) -> Assessment:
    """Score a chunk.

    Args:
        kind: of its item.
        text: what it says, for chats without the headings of their messages.
        terms: its words as the full-text index has them.
        tokens: exact count.
        tags: of its item: `provider:…`, sent, reply, dm, mention.
        entities: found in it.
    """
    words = _informative(text[:_START])
    if words < _FULL_SUBSTANCE and len(text) > _START:
        words = _informative(text[:_SAMPLE])
    substance = max(_FLOOR[kind], min(1.0, words / _FULL_SUBSTANCE))
    cues = _cues(text, entities)
    distinct = len({(e.kind, e.surface.lower()) for e in entities})
    signals = {
        "token_count": length_signal(tokens) * min(1.0, 2 * substance),
        "unique_words": variety_signal(terms) * min(1.0, 2 * substance),
        "metadata_weight": _lifted(METADATA[kind], substance),
        "source_weight": _lifted(_source(kind, tags), substance),
        "interaction_weight": _interaction(tags, substance, cues),
        "entity_density": density_signal(distinct, tokens),
    }
    total = weighted_mean(signals)
    dropped, reason = _verdict(kind, total, tokens, distinct)
    return Assessment(total, signals, cues, dropped, reason)


def with_importance(kind: Kind, signals: dict[str, float], importance: float, tokens: int, entities: int) -> Assessment:
    """The verdict once a model has said how much a chunk matters: its word counts with a weight of 2."""
    whole = sum(WEIGHTS.values())
    total = round((weighted_mean(signals) * whole + IMPORTANCE_WEIGHT * importance) / (whole + IMPORTANCE_WEIGHT), 6)
    dropped, reason = _verdict(kind, total, tokens, entities)
    return Assessment(total, signals, (), dropped, reason)


def _verdict(kind: Kind, total: float, tokens: int, entities: int) -> tuple[bool, str]:
    if total < DROP:
        return True, f"its score {total:.2f} is below {DROP}"
    if kind is Kind.CHAT and tokens < 10 and not entities:
        return True, "a chat of fewer than ten tokens that names nothing"
    return False, ""


def _informative(text: str) -> float:
    """Words that say something: without fillers, emoji, greetings, and the lines that a chat program writes by itself."""
    if any(sign in text for sign in _SYSTEM_SIGNS):
        text = "\n".join(line for line in text.split("\n") if not _SYSTEM_LINE.search(line))
    rest = _EMOTE.sub(" ", text)
    latin = [w for w in _LATIN.findall(rest) if w.lower().replace("’", "'") not in _FILLERS]
    chinese = len(_CJK.findall(_CHINESE_FILLERS.sub("", rest)))
    return len(latin) + chinese / _CJK_A_WORD + 0.5 * min(6, len(_NUMBER.findall(rest)))


def _cues(text: str, entities: Sequence[Entity]) -> tuple[str, ...]:
    kinds = {e.kind for e in entities}
    sample = text[: 2 * _SAMPLE].lower()  # patterns that tell capitals apart are three times as fast
    latin = bool(_LATIN_WORD.search(sample))
    found = [
        name
        for name, (pattern, words) in _CUES.items()
        if (latin and pattern.search(sample)) or (not sample.isascii() and any(word in sample for word in words))
    ]
    if "datetime" in kinds:
        found.append("date")
    if "quantity" in kinds:
        found.append("amount")
    if len(_NUMBER.findall(sample)) >= 2:
        found.append("number")
    if kinds & {"person", "organization", "location", "misc", "email", "url", "handle"}:
        found.append("name")
    return tuple(found)


def _lifted(base: float, substance: float) -> float:
    """The specification's constant in an ordinary sentence; nothing of it in an empty one, more in a full one."""
    return substance * (base + (1 - base) * _LIFT * substance)


def _source(kind: Kind, tags: Sequence[str]) -> float:
    provider = next((tag.removeprefix("provider:") for tag in tags if tag.startswith("provider:")), "")
    return _PROVIDER.get(provider, SOURCE[kind])


def _interaction(tags: Sequence[str], substance: float, cues: tuple[str, ...]) -> float:
    gains = [INTERACTION[tag] for tag in tags if tag in INTERACTION]
    salience = substance * min(1.0, 0.3 + 0.18 * len(cues))
    return min(1.0, max(sum(gains) * substance, salience)) if gains else salience
