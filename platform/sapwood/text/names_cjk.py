"""Names of people, places and organisations in Chinese text, by the tags of a segmenter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["ChineseName", "chinese_names"]


class ChineseName(NamedTuple):
    """`text[start:end]` and what it is."""

    kind: str
    start: int
    end: int


_RUN = re.compile(r"[\u3400-\u9fff·]{2,}")
_KINDS = {"nr": "person", "nrt": "person", "nrfg": "person", "ns": "location", "nt": "organization"}
# What an organisation's name ends in, where the segmenter cuts it off.
_ORGANISATION = frozenset(
    """公司 有限公司 集团 大学 学院 银行 医院 研究所 研究院 委员会 协会 基金会 出版社 事务所 法院 工厂 酒店 中学 小学""".split()  # noqa: SIM905
)
_LONGEST_ORGANISATION = 5  # words
_PART = frozenset(("nr", "nrt", "nrfg", "ns", "nt", "nz", "n", "j"))
_SURNAMES = frozenset(
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘于蒋蔡余杜叶程苏魏吕丁任沈姚卢姜崔钟谭陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔向汤"
)
_COMPOUND_SURNAMES = frozenset(("欧阳", "司马", "诸葛", "上官", "司徒", "慕容", "令狐", "皇甫", "尉迟", "端木"))
_TITLES = ("先生", "女士", "小姐", "医生", "大夫", "教授", "老师", "律师", "经理", "总监", "主任", "师傅", "同学", "博士", "院长", "校长", "书记", "局长", "部长", "董事长")  # fmt: skip
# Words that the segmenter takes for names now and then.
_NO_NAME = frozenset(
    """索引 明白 高兴 和平 安静 小心 白天 温柔 文明 金融 何时 何处 高价 高端 石油 马上 万一 华丽 安宁 阳光 方便 时光 明显
严格 周末 周一 周二 周三 周四 周五 周六 周日 易用 平和 康复 成功 包子 宝贝 老板 阿姨 宝宝 毛病 白菜 红烧 小时 向导 应用 全文
标签 页面 高速 高清 纪要 连接 阿里 小学 中学 大学 医院 银行 公司 集团 学院 酒店 工厂""".split()  # noqa: SIM905
)


def chinese_names(text: str) -> Iterator[ChineseName]:
    """Names in order; those of one character only together with a title (王医生)."""
    import rjieba  # its dictionary is loaded by those who need it

    for run in _RUN.finditer(text):
        yield from _in_run(run[0], run.start(), rjieba.tag(run[0]))


def _in_run(run: str, offset: int, words: list[tuple[str, str]]) -> Iterator[ChineseName]:
    found: list[ChineseName] = []
    at = 0
    joined = ""  # a compound surname that the last word was
    for number, (word, tag) in enumerate(words):
        end = at + len(word)
        if joined:
            if len(word) <= 2:
                found.append(ChineseName("person", offset + at - len(joined), offset + end))
            joined = ""
        elif word in _COMPOUND_SURNAMES:
            joined = word
        elif word in _ORGANISATION and number and (start := _organisation_start(words, number, at)) < at:
            while found and found[-1].end > offset + start:
                found.pop()  # a part of the longer name
            found.append(ChineseName("organization", offset + start, offset + end))
        elif (kind := _KINDS.get(tag)) and word not in _NO_NAME:
            if kind == "person" and len(word) == 1:
                title = next((t for t in _TITLES if run.startswith(t, end)), "") if word in _SURNAMES else ""
                if title:
                    found.append(ChineseName("person", offset + at, offset + end + len(title)))
            elif len(word) > 1 and (kind != "person" or _is_name(word, tag)):
                found.append(ChineseName(kind, offset + at, offset + end))
        at = end
    yield from found


def _is_name(word: str, tag: str) -> bool:
    """A Chinese name is a surname and one or two characters; names of others (马克, 马化腾) come from the dictionary."""
    return word[0] in _SURNAMES and len(word) <= 3 if tag == "nr" else 2 <= len(word) <= 6


def _organisation_start(words: list[tuple[str, str]], number: int, at: int) -> int:
    """Where an organisation's name begins whose last word is this one: the nouns and names right before it."""
    start = at
    for word, tag in reversed(words[max(0, number - _LONGEST_ORGANISATION + 1) : number]):
        if tag not in _PART or word in _NO_NAME:
            break
        start -= len(word)
    return start
