"""Which language a text is in, as far as its signs and its small words say."""

from __future__ import annotations

import re

__all__ = ["language_of"]

_LETTERS = re.compile(r"[^\W\d_]")
_SCRIPTS = (
    ("ko", re.compile(r"[\uac00-\ud7af]")), ("ja", re.compile(r"[\u3040-\u30ff]")), ("zh", re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")),
    ("ru", re.compile(r"[\u0400-\u04ff]")), ("ar", re.compile(r"[\u0600-\u06ff]")), ("el", re.compile(r"[\u0370-\u03ff]")), ("he", re.compile(r"[\u0590-\u05ff]")),
    ("th", re.compile(r"[\u0e00-\u0e7f]")), ("hi", re.compile(r"[\u0900-\u097f]")),
)  # fmt: skip
# Japanese is written with Han too, and each Han character says about as much as three letters.
_FEW_KANA = 0.1
_WEIGHT = {"ko": 2.0, "ja": 3.0, "zh": 3.0}
_OTHERS = re.compile(r"[іїєґўђјљњћџ\u067e\u0686\u06af\u06cc\u06a9\u06d2]")
_SMALL_WORDS = {
    "en": "the of and to in is that it for was with on are as be this have at not from by they we you will has been which their would about",
    "de": "der die das und ist nicht ein eine zu den mit von auf für im dem des sich auch es an wird als bei sind oder noch nur wir werden",
    "fr": "le la les des et est une un du que pour dans en pas au sur avec ce il qui plus par sont nous cette aux ou mais être",
    "es": "el la los las de y que en un una por con no para se del al es lo como más pero sus está son este ha sobre también",
    "it": "il la di che e un una per non in con del è sono della le dei si al da come anche più gli nel alla questo ma",
    "pt": "o a os as de e que em um uma do da para com não por dos no na se mais como é ao foi das mas seu são",
    "da": "og det er en af på til der som med for den ikke at de har vi kan var fra men om så hvor jeg bliver efter",
    "sv": "och det är en av på till som med för den inte att de har vi kan var från men om så där jag blir efter ett",
    "no": "og det er en av på til som med for den ikke at de har vi kan var fra men om så hvor jeg blir etter et",
    "pl": "i w nie na się że jest to z do jak ale po co tak od za już dla przez przy które są oraz może tego",
    "cs": "a v se na je že to s do jako ale po tak od za už pro při které jsou nebo může byl není bude této",
    "fi": "ja on ei se että oli mutta kun myös hän tämä ovat niin joka sen voi kuin tai mitä ole vain jos",
    "tr": "ve bir bu da de için ile olarak çok daha ama gibi kadar olan var ne o değil sonra her en",
    "ro": "și în de la nu este cu pe o să din ce mai care pentru un ca sunt dar fost sau prin acest",
    "hu": "a az és hogy nem is egy meg van de ez volt már csak mint vagy kell lesz ezt azt még",
    "id": "yang dan di ini itu dengan untuk tidak dari dalam akan pada ada juga ke bisa saya adalah sudah atau karena",
    "vi": "và là của có không được cho một những trong với các người này đã tôi như khi về đến từ",
    "nl": "de het een en van in is dat op te voor met niet zijn aan er ook als bij om maar nog wordt worden naar uit deze",
}
_SETS = {name: frozenset(words.split()) for name, words in _SMALL_WORDS.items()}
_WORDS = re.compile(r"[^\W\d_]+")
_ENOUGH = 8  # words, before their language can be told
_CLEAR = 0.12  # of all words are small words of the language


def language_of(text: str) -> str:
    """A two-letter code, by script, and for Latin letters by the small words; empty where that does not say."""
    weights = {name: _WEIGHT.get(name, 1.0) * len(pattern.findall(text)) for name, pattern in _SCRIPTS}
    if weights["ja"] >= _FEW_KANA * (weights["ja"] + weights["zh"]) and weights["ja"]:
        weights["ja"] += weights.pop("zh")
    letters = len(_LETTERS.findall(text)) - sum(len(pattern.findall(text)) for _, pattern in _SCRIPTS)
    best = max(weights, key=lambda name: weights[name])
    if weights[best] > max(letters, 0):
        # Ukrainian, Persian and others are written with signs that Russian and Arabic do not have: of these nothing is said.
        return "" if _OTHERS.search(text) and best in ("ru", "ar") else best
    return _by_small_words(text)


def _by_small_words(text: str) -> str:
    words = [word.lower() for word in _WORDS.findall(text)]
    if len(words) < _ENOUGH:
        return ""
    counts = {name: sum(word in small for word in words) for name, small in _SETS.items()}
    first, second = sorted(counts, key=lambda name: (-counts[name], name))[:2]
    return first if counts[first] >= _CLEAR * len(words) and counts[first] > 1.3 * counts[second] else ""
