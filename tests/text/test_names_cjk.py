"""Names in Chinese text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.text.names_cjk import chinese_names


def _found(text: str) -> list[tuple[str, str]]:
    return [(name.kind, text[name.start : name.end]) for name in chinese_names(text)]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("张伟昨天在北京大学见了马化腾。", [("person", "张伟"), ("organization", "北京大学"), ("person", "马化腾")]),
        ("讨论腾讯公司和阿里巴巴集团的合作", [("organization", "腾讯公司"), ("organization", "阿里巴巴集团")]),
        ("王医生建议我去深圳。", [("person", "王医生"), ("location", "深圳")]),
        ("合同发给中国饮料有限公司的周经理", [("organization", "中国饮料有限公司"), ("person", "周经理")]),
        ("欧阳娜娜来了", [("person", "欧阳娜娜")]),
        ("和张伟谈了蓝鲸计划的进度，谢谢大家。", [("person", "张伟"), ("misc", "蓝鲸计划")]),
        ("上台发言的说东西都准备好了，比特币和日志以后再说。", []),
        ("索引要重建，周末再说，大家明白就好。", []),
        ("Nothing Chinese here.", []),
    ],
)
def test_people_places_and_organisations_are_found(text: str, names: list[tuple[str, str]]) -> None:
    assert _found(text) == names


@given(st.text(alphabet="张王李伟在北京大学公司集团的了，。a 1医生欧阳", max_size=60))
def test_names_are_in_order_and_within_the_text(text: str) -> None:
    at = 0
    for name in chinese_names(text):
        assert at <= name.start < name.end <= len(text)
        at = name.end
