"""Names of people, places and organisations in Chinese text, by the tags of a segmenter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["ChineseName", "chinese_lines", "chinese_names"]


class ChineseName(NamedTuple):
    """`text[start:end]` and what it is."""

    kind: str
    start: int
    end: int


_HAN = re.compile(r"[\u3400-\u9fff]{2}")
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
_NO_GIVEN_NAME = frozenset(
    "的了是在和与及或也都就又而且但被把对为以于从到向给让将会能可要有没不这那其之所者们个年月日时分中上下里外前后来去说想看做用同等更最很还只因则若如并各每第一二三四五六七八九十两几多少大小新旧此该本吧吗呢啊呀哦总某氏家省市县区街路河江山国人属类科族代版号级案说谈讲问答叫请写听买卖打带找走跑吃喝睡坐站送拿放收任效哪谁嫁往侧"
)
# What makes a name of a name before it: 蓝鲸计划, 曼哈顿工程.
_UNDERTAKINGS = frozenset(("计划", "项目", "工程", "行动", "协议", "条约", "系统", "平台", "大会", "论坛"))
_MARKS = _UNDERTAKINGS | _ORGANISATION | _COMPOUND_SURNAMES | _SURNAMES
_TITLES = ("先生", "女士", "小姐", "医生", "大夫", "教授", "老师", "律师", "经理", "总监", "主任", "师傅", "同学", "博士", "院长", "校长", "书记", "局长", "部长", "董事长")  # fmt: skip
# Words that the segmenter takes for names now and then.
_NO_NAME = frozenset(
    """索引 明白 高兴 和平 安静 小心 白天 温柔 文明 金融 何时 何处 高价 高端 石油 马上 万一 华丽 安宁 阳光 方便 时光 明显
严格 周末 周一 周二 周三 周四 周五 周六 周日 易用 平和 康复 成功 包子 宝贝 老板 阿姨 宝宝 毛病 白菜 红烧 小时 向导 应用 全文
标签 页面 高速 高清 纪要 连接 阿里 小学 中学 大学 医院 银行 公司 集团 学院 酒店 工厂
谢谢 比特 育人 唐音 吴音 陆军 熊猫 白鲸 马匹 马鹿 白银 令人 二人 恩人 顾问 高水平 高峰 高明 高雅 高华 高耸 高中生 孔径 马达 金字塔 王朝 王权
崇尚 范畴 保姆 段子 育婴 汤圆 黎明 安妮塔 曾任 王墓 王业 白汁 石线 史前 黄绿色 范围广 段时间 向心 江湖 江山 石头 石材 金属 金额 金色 金钱 马路
马虎 马力 马车 白色 白酒 白领 白糖 黄金 黄色 黄昏 黄瓜 叶子 田地 高度 高温 高潮 高考 高手 高级 高达 高压 高效 方向 方法 方案 方式 程度 程序 万分 万能 万物 周围 周期 周年
周边 常常 常见 严重 严肃 严厉 宋体 温暖 温度 温馨 温泉 温和 康健 安心 安全 安排 安装 文件 文章 文化 文字 文艺 华人 明年 明天 明确 明星 阳台 平台 平均 平时 平常 任务 任何 任命 任性
许多 许久 许可 余下 余地 余额 时候 时间 时机 时代 时尚 钱包 钱财 毛巾 毛衣 毛利 江水 于是 曾经 向上 向下 章程 章节 葛根 雷雨 雷电 雷达 龙头 贺卡 贺词 顾客 顾虑 汤勺 孟浪 石墨 伟大 宏大
东西 城市 巴士 加盟 英雄 嘉宾 都市 阴阳 亚科 新城 神圣 太阳 上市 朝廷 深度 长度 深水 港湾 大城市 大海 外国 普及 海洋 维度 建国 古典 湖泊 城镇 山脉 塔楼 山区 古镇 关联 古庙 长大 新村
河畔 新建 佛典 绵羊 广义 伦理 加密 美丽 哥哥 英里 大桥 遮阳 开国 海峡 巴巴 美眉 山沟 冰川 日志 台风 山洞 山丘 城堡 平原 池塘 中考 延时 开园 上台 京东 大都市 都城 比丘 天桥 西餐 中餐
东家 西瓜 西装 南瓜 北漂 海报 海鲜 山寨 河流 湖边 田园 广场 口岸 码头 机场 车站 小镇 乡村 县城 市区 郊区 地方 当地 本地 外地 内地 城里 乡下 海边 河边 山上 台上 台阶 上海鲜
最大化 国家队 新闻台 交汇处 上市公司 股份有限公司 有限公司 广播电台""".split()  # noqa: SIM905
)


def chinese_names(text: str) -> Iterator[ChineseName]:
    """Names in order; those of one character only together with a title (王医生)."""
    import rjieba  # its dictionary is loaded by those who need it

    for at, line in chinese_lines(text):
        # Without guesses at unknown words, which cost as much again: names that no dictionary has are found here.
        yield from _in_line(line, at, rjieba.tag(line, hmm=False))


def chinese_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with two Chinese signs together, each with its place in the text."""
    if text.isascii():
        return
    at = 0
    for line in text.split("\n"):
        if _HAN.search(line):
            yield at, line
        at += len(line) + 1


def _in_line(line: str, offset: int, words: list[tuple[str, str]]) -> Iterator[ChineseName]:
    found: list[ChineseName] = []
    at = 0
    kinds, marks = _KINDS, _MARKS
    for number, (word, tag) in enumerate(words):
        if tag in kinds or word in marks:
            _take(line, offset, words, number, at, found)
        at += len(word)
    yield from found


def _take(line: str, offset: int, words: list[tuple[str, str]], number: int, at: int, found: list[ChineseName]) -> None:
    word, tag = words[number]
    end = at + len(word)
    if found and found[-1].end > offset + at:
        return  # it is a part of a name already
    if word in _COMPOUND_SURNAMES and number + 1 < len(words) and len(words[number + 1][0]) <= 2:
        found.append(ChineseName("person", offset + at, offset + end + len(words[number + 1][0])))
    elif len(word) == 1 and word in _SURNAMES:
        title = next(t for t in _TITLES if line.startswith(t, end)) if line.startswith(_TITLES, end) else ""
        given = _given_name(words, number)
        if title or given:
            found.append(ChineseName("person", offset + at, offset + end + (len(title) or given)))
    elif word in _ORGANISATION and number and (start := _organisation_start(words, number, at)) < at:
        while found and found[-1].end > offset + start:
            found.pop()  # a part of the longer name
        found.append(ChineseName("organization", offset + start, offset + end))
    elif word in _UNDERTAKINGS and number and _names_an_undertaking(*words[number - 1]):
        start = at - len(words[number - 1][0])
        while found and found[-1].end > offset + start:
            found.pop()
        found.append(ChineseName("misc", offset + start, offset + end))
    elif (
        (kind := _KINDS.get(tag))
        and len(word) > 1
        and word not in _NO_NAME
        and (kind != "person" or _is_name(word, tag))
    ):
        found.append(ChineseName(kind, offset + at, offset + end))


def _names_an_undertaking(word: str, tag: str) -> bool:
    """True for a proper name of two or more signs, whatever it is the name of."""
    return len(word) > 1 and tag in ("nr", "nrt", "nrfg", "ns", "nz") and word not in _NO_NAME


def _is_name(word: str, tag: str) -> bool:
    """A Chinese name is a surname and one or two characters; names of others (马克, 马化腾) come from the dictionary."""
    return word[0] in _SURNAMES and len(word) <= 3 if tag == "nr" else 2 <= len(word) <= 6


def _given_name(words: list[tuple[str, str]], number: int) -> int:
    """How many signs after a surname are words of one sign that say nothing else: one or two make a name."""
    taken = 0
    for word, _ in words[number + 1 : number + 3]:
        if len(word) != 1 or not "\u3400" <= word <= "\u9fff" or word in _NO_GIVEN_NAME:
            break
        taken += 1
    return taken


def _organisation_start(words: list[tuple[str, str]], number: int, at: int) -> int:
    """Where an organisation's name begins whose last word is this one: the nouns and names right before it."""
    start = at
    for word, tag in reversed(words[max(0, number - _LONGEST_ORGANISATION + 1) : number]):
        if tag not in _PART or word in _NO_NAME:
            break
        start -= len(word)
    return start
