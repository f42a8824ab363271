"""Secrets out of text, before anything is hashed, stored, shown or logged.

Named shapes first (keys of known vendors, private keys, headers, assignments, links), then unnamed runs by their
entropy. Every hit becomes the literal `[REDACTED]`; the class is counted, the secret kept nowhere. Look-arounds are
ASCII: `\\b` takes Chinese characters for word characters and would miss a key that stands beside one. Redacting
redacted text changes nothing.

Shapes are those that vendors publish for their keys; `docs/reference/redaction.md` lists them.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sapwood.credentials import without_secrets

REDACTED = "[REDACTED]"

_START = r"(?<![A-Za-z0-9_])"
_END = r"(?![A-Za-z0-9_])"


@dataclass(frozen=True, slots=True)
class _Rule:
    """`triggers` are literals of which one must stand in the text, in lower case for rules that ignore case; what the
    group `secret` of `pattern` finds is cut out."""

    name: str
    triggers: tuple[str, ...]
    pattern: re.Pattern[str]
    accept: Callable[[re.Match[str]], bool] | None = None


def _key(name: str, triggers: str, shape: str) -> _Rule:
    return _Rule(name, tuple(triggers.split()), re.compile(f"{_START}(?P<secret>{shape}){_END}"))


# What stands between the lines of a key that was quoted, indented, escaped or lost its line breaks.
_PEM_GAP = r"(?:[ \t>|]|\\[rn]|\r|\n)"
_PRIVATE_KEY = re.compile(
    r"(?P<secret>-{2,5}\s?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-{2,5}"
    r"(?:(?:[^-]|-(?!----)){0,20000}?-{5}END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-{5}"
    rf"|(?:{_PEM_GAP}*(?:(?:Proc-Type|DEK-Info|Version|Comment|Hash)[^\n\\]{{0,200}}|[A-Za-z0-9+/=]{{16,}}|[A-Za-z0-9+/]{{1,76}}={{1,2}}|=[A-Za-z0-9+/]{{4}}))*"
    rf"(?:{_PEM_GAP}+[A-Za-z0-9+/]{{2,76}}={{0,2}}(?=\s*(?:$|\n\s*\n|\"|\\n)))?))",
    re.IGNORECASE,
)

_CHINESE_NAMES = "密码|口令|密钥|私钥|令牌|密碼|金鑰|權杖"
# An assignment is found from its name's last word, which is rare, and then read to the right and to the left.
_NAME_WORD = re.compile(
    rf"token|secret|passw(?:or)?d|pass(?=[\\s\"'\]]{{0,3}}[=:])|passphrase|passcode|pwd|credentials?|key|code|verifier|challenge|{_CHINESE_NAMES}"
)
_NAME_HINTS = (
    "key",
    "token",
    "secret",
    "pass",
    "pwd",
    "credential",
    "code",
    "密",
    "口令",
    "私钥",
    "令牌",
    "金鑰",
    "權杖",
)
_NAME_HEAD = {
    "key": re.compile(
        r"(?:api|access|secret|private|signing|encryption|account|subscription|auth|app|client|master|webhook|license)[_\-. ]?$",
        re.I,
    ),
    "code": re.compile(r"authorization[_\-. ]?$", re.I),
    "verifier": re.compile(r"code[_\-. ]?$", re.I),
    "challenge": re.compile(r"code[_\-. ]?$", re.I),
    "pass": re.compile(r"(?:^|[\s\"'\[,{;(])(?:[a-z0-9]{1,14}[_\-])?$", re.I),
}
_VALUE = re.compile(
    r"[\\\"'`*_\]]{0,4}\s{0,3}(?P<sign>=>|:=|={1,2}|[:：＝]|是|为|is(?=\s))[*_]{0,2}\s{0,3}[*_]{0,2}"
    r"(?:\\?[\"'`“](?P<quoted>(?:''|[^\"'`“”\n]){1,400})"
    r"|(?P<bare>[^\s\"'`“”，。；、！？<>()（）\[\]{}]{2,400}[^\s\"'`“”，。；、！？<>()（）\[\]{},;.:!?]))",
)
# Values that stand behind such names in prose, code and documentation without being secrets.
_PLAIN_VALUES = frozenset([
    "none", "null", "nil", "true", "false", "str", "string", "int", "bool", "bytes", "text", "object", "any",
    "self", "this", "undefined", "optional", "required", "empty", "default", "yes", "no", "the", "a", "an", "is",
    "are", "was", "not", "and", "or", "to", "for", "of", "in", "on", "it", "you", "your", "my", "our", "reset",
    "change", "changed", "changes", "expired", "expires", "invalid", "missing", "wrong", "incorrect", "example",
    "placeholder", "unknown", "here", "see", "with", "from", "will", "must", "should", "can", "type", "value",
    "name", "field", "number", "hidden", "protected", "disabled", "enabled", "forgotten", "secret", "password",
    "token", "key", "input", "env", "environ", "var", "variable", "config", "settings",
])  # fmt: skip
_CODE_VALUE = re.compile(
    r"^(?:\$|%|@|&|\{|<|os\.|env\.|process\.|self\.|this\.|config\.|settings\.|request\.|[A-Za-z_][\w.]*\($|\.\.\.|…|\*+$|x+$|-+$)",
    re.IGNORECASE,
)
_ATTRIBUTE = re.compile(r"^[A-Za-z_]+(?:\.[A-Za-z_]+)+$")
_PROSE_WORD = re.compile(r"^[A-Za-z]+[.,:;!?]*$")

_QUERY_NAMES = (
    r"access_token|refresh_token|id_token|auth_token|token|api_?key|apikey|key|secret|client_secret|password|passwd|pwd|sig|signature"
    r"|x-amz-(?:signature|credential|security-token)|x-goog-(?:signature|credential)|authorization_code|code_verifier|code_challenge|auth|session(?:_?id)?|sas|t_?oken|sign|ticket"
)


def _assigned(name: str, match: re.Match[str]) -> bool:
    """True when the value of an assignment to `name` (the last word of it) looks like a secret."""
    quoted, bare, sign = match.group("quoted"), match.group("bare"), match.group("sign").strip()
    value = quoted or bare
    if REDACTED in value or _CODE_VALUE.match(value) or value.rstrip(".,:;!?)").lower() in _PLAIN_VALUES:
        return False
    if name == "pass" and not (any(c.isdigit() for c in value) and any(c.isalpha() for c in value)):
        return False  # "first pass: all green"
    password = name.startswith("p") or name in ("密码", "口令", "密碼")
    if sign in ("is", "是", "为"):  # prose: only what cannot be a word is a secret
        return len(value) >= 6 and value.isascii() and any(c.isdigit() for c in value) and not value.isdigit()
    if quoted:
        return password or " " not in quoted.strip()
    if not unicodedata.normalize("NFKC", value).isascii():
        return False
    if match.string[match.end() : match.end() + 1] == "(":
        return False  # a call
    if _PROSE_WORD.match(value):
        # "token: budget" and "secret: see" are prose; "password=letmein" is not.
        tight = match.string[match.start("bare") - 1] in "=:："
        return password or (tight and len(value) >= 8) or len(value) >= 16
    if _ATTRIBUTE.match(value):
        return False
    return not (value.isdigit() and len(value) < 4)


_RULES: tuple[_Rule, ...] = (
    _Rule("private key", ("private key",), _PRIVATE_KEY),
    _Rule(
        "authorization header",
        ("bearer", "authorization"),
        re.compile(
            rf"{_START}(?:(?:proxy-)?authorization[\"']?\s{{0,3}}[:=：]\s{{0,3}}[\"']?(?:basic|bearer|token|digest|apikey)\s{{1,3}}|bearer\s{{1,3}})"
            r"(?P<secret>[A-Za-z0-9._~+/=\-]{8,})",
            re.IGNORECASE,
        ),
        lambda m: not (m.group("secret").isalpha() and m.group("secret").islower()),
    ),
    _key("Anthropic key", "sk-ant-", r"sk-ant-[A-Za-z0-9_\-]{16,}"),
    _key("OpenAI key", "sk-", r"sk-(?:proj|org|svcacct|admin|None|or-v1|lf)-[A-Za-z0-9_\-]{12,}"),
    _key("model vendor key", "sk-", r"sk-[A-Za-z0-9_\-]{20,}"),
    _key(
        "model vendor key",
        "hf_ gsk_ xai- r8_ pplx- nvapi- tgp_v1_",
        r"(?:hf_|gsk_|xai-|r8_|pplx-|nvapi-|tgp_v1_)[A-Za-z0-9_\-]{20,}",
    ),
    _key("AWS key", "AKIA ASIA ABIA ACCA", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}"),
    _key("Google key", "AIza", r"AIza[A-Za-z0-9_\-]{35}"),
    _key("Google key", "ya29. GOCSPX-", r"(?:ya29\.[A-Za-z0-9_\-]{20,}|GOCSPX-[A-Za-z0-9_\-]{20,})"),
    _Rule(
        "Azure key",
        ("accountkey=", "sharedaccesskey="),
        re.compile(r"(?:AccountKey|SharedAccessKey)\s{0,2}=\s{0,2}(?P<secret>[A-Za-z0-9+/]{20,}={0,2})", re.I),
    ),
    _key("Aliyun key", "LTAI", r"LTAI[A-Za-z0-9]{12,26}"),
    _key("Tencent key", "AKID", r"AKID[A-Za-z0-9]{13,48}"),
    _key(
        "GitHub token",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        r"(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})",
    ),
    _key("GitLab token", "glpat- gldt- glrt- glcbt- glptt-", r"gl(?:pat|dt|rt|cbt|ptt)-[A-Za-z0-9_\-.]{16,}"),
    _key(
        "package registry token",
        "npm_ pypi- dckr_pat_ rubygems_",
        r"(?:npm_[A-Za-z0-9]{20,}|pypi-[A-Za-z0-9_\-]{30,}|dckr_pat_[A-Za-z0-9_\-]{20,}|rubygems_[a-f0-9]{40,})",
    ),
    _key("Atlassian token", "ATATT3 ATBB", r"(?:ATATT3|ATBB)[A-Za-z0-9_\-=.]{20,}"),
    _key("Stripe key", "sk_ rk_ whsec_", r"(?:(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{20,})"),
    _key("Slack token", "xox xapp-", r"(?:xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9\-]{10,}|xapp-\d-[A-Za-z0-9\-]{10,})"),
    _key("SendGrid key", "SG.", r"SG\.[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,}"),
    _key("Twilio key", "SK", r"SK[0-9a-f]{32}"),
    _key("Mailgun key", "key-", r"key-[0-9a-f]{32}"),
    _key("Shopify token", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}"),
    _key("Notion token", "ntn_ secret_", r"(?:ntn_[A-Za-z0-9]{30,}|secret_[A-Za-z0-9]{40,})"),
    _key("Telegram bot token", ":AA", r"\d{8,10}:AA[A-Za-z0-9_\-]{32,}"),
    _key("JWT", "eyJ", r"eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]*"),
    _Rule(
        "webhook address",
        ("hooks.slack.com", "/hook/", "discord.com/api/webhooks", "discordapp.com/api/webhooks", "/webhook/"),
        re.compile(
            r"(?:hooks\.slack\.com/(?:services|workflows|triggers)/|open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/(?:v2/)?hook/"
            r"|discord(?:app)?\.com/api/webhooks/\d+/)(?P<secret>[A-Za-z0-9_\-/]{8,})",
            re.I,
        ),
    ),
    _Rule(
        "password on a command line",
        ("--pass", "--pwd", "--token", "--secret", "--api", "--client-secret", "sshpass", "curl", "login "),
        re.compile(
            r"(?:--(?:pass(?:word|wd|phrase)?|pwd|token|secret|api-?key|client-secret)[ =]|sshpass\s+-p\s{0,2}"
            r"|curl\b[^\n]{0,200}?\s(?:-u|--user)\s+[\"']?[^\s:\"']{1,80}:|\blogin\s+\S{1,80}\s+password\s+)"
            r"[\"']?(?P<secret>(?!(?:env|file|keyring):)[^\s\"'`<>$\[\](){}]{3,200})",
        ),
        lambda m: not m["secret"].isupper() and m["secret"].lower() not in _PLAIN_VALUES,
    ),
    _Rule(
        "secret element",
        ("</pass", "</pwd", "</secret", "</token", "</api", "</client", "</access"),
        re.compile(
            r"<(?P<name>pass(?:word|wd|phrase)?|pwd|secret|token|api[_\-]?key|client[_\-]?secret|access[_\-]?token)\b[^<>]{0,100}>"
            r"(?P<secret>[^<>\s][^<>]{1,200}?)\s*</(?P=name)",
            re.IGNORECASE,
        ),
    ),
    _Rule(
        "secret attribute",
        ("value=",),
        re.compile(
            r"(?:key|name)\s{0,2}=\s{0,2}[\"'][^\"'<>]{0,60}(?:password|passwd|secret|token|apikey|api[_\-]key)[\"']\s{1,3}value=\s{0,2}"
            r"[\"'](?P<secret>[^\"'<>\s]{2,200})",
            re.IGNORECASE,
        ),
    ),
    _Rule(
        "cookie",
        ("cookie:",),
        re.compile(r"(?:set-)?cookie:\s{0,3}(?P<secret>[A-Za-z0-9_\-.]{1,60}=[^\s\[][^\n\[]{7,2000})", re.IGNORECASE),
    ),
    _Rule(
        "password in a link",
        ("://",),
        re.compile(
            r"[A-Za-z][A-Za-z0-9+.\-]{1,20}://[^\s/:@\"'<>]{0,100}:(?P<secret>[^\s/@\"'<>\[\]]{1,200})@(?=[A-Za-z0-9\[])"
        ),
    ),
    _Rule(
        "secret in a link",
        ("=",),
        re.compile(rf"(?<=[?&;#])(?:{_QUERY_NAMES})=(?P<secret>[^\s&#\"'<>\[\]()（）]{{4,}})", re.IGNORECASE),
    ),
)
_RUN = re.compile(r"(?<![A-Za-z0-9+/_=\-])[A-Za-z0-9+/_\-]{32,}={0,2}(?![A-Za-z0-9+/_=\-])")
_LINK = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]{1,20}://[^\s<>\"'）】]+|\]\([^)\s]+\)|(?:data|mailto):[^\s<>\"']+")
_ASCII_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_HEX = re.compile(r"^[0-9a-fA-F\-]+$")

_PERSONAL: tuple[_Rule, ...] = (
    _Rule("mainland identity number", (), re.compile(r"(?<!\d)(?P<secret>[1-9]\d{5}(?:19|20)\d{2}(?:0\d|1[0-2])(?:[0-2]\d|3[01])\d{3}[\dXx])(?![\dA-Za-z])"), lambda m: _identity(m["secret"])),
    _Rule("bank card", (), re.compile(r"(?<![\d\-])(?P<secret>[3-6]\d{3}(?:[ \-]?\d{4}){2}[ \-]?\d{3,7})(?![\d\-])"), lambda m: _luhn(m["secret"])),
    _Rule("mobile number", (), re.compile(r"(?<![\d.])(?P<secret>(?:\+?86[ \-]?)?1[3-9]\d[ \-]?\d{4}[ \-]?\d{4})(?!\d)")),
)  # fmt: skip


_REMEMBERED = 4096


def _trigger_groups() -> tuple[tuple[str, bool, tuple[tuple[str, int], ...]], ...]:
    """Triggers by a sign that all of a group hold, since most texts lack the sign and looking for one is cheap."""
    groups: dict[tuple[str, bool], list[tuple[str, int]]] = {}
    for number, rule in enumerate(_RULES):
        ignore_case = bool(rule.pattern.flags & re.IGNORECASE)
        for trigger in rule.triggers:
            sign = next((c for c in "_=:-" if c in trigger), "")
            groups.setdefault((sign, ignore_case), []).append((trigger, number))
    return tuple((sign, ignore_case, tuple(triggers)) for (sign, ignore_case), triggers in groups.items())


_GROUPS = _trigger_groups()


def _rules_for(text: str) -> list[_Rule]:
    """The rules of which a trigger stands in the text, in their order: most texts need none."""
    hits: set[int] = set()
    lowered = ""
    for sign, ignore_case, triggers in _GROUPS:
        if sign and sign not in text:
            continue
        if ignore_case:
            lowered = lowered or text.lower()
        where = lowered if ignore_case else text
        hits.update([number for trigger, number in triggers if trigger in where])
    return [_RULES[number] for number in sorted(hits)] if hits else []


@dataclass(slots=True)
class Redaction:
    """A redacter with its tally.

    Attributes:
        personal: also cut mainland identity numbers, bank cards and mobile numbers (setting `redact_personal`).
        counts: hits by class since the start, or since `counts` was last cleared.
    """

    personal: bool = False
    counts: Counter[str] = field(default_factory=Counter)
    _sound: set[str] = field(default_factory=set)

    def text(self, text: str) -> str:
        """Prose, code, titles, names: every rule."""
        if len(text) < 6:
            return text
        text = self._apply(text, _rules_for(text))
        text = self._cut_assignments(text)
        if self.personal:
            text = self._apply(text, _PERSONAL)
        return self._cut_runs(text) if len(text) >= 32 else text

    def message(self, text: str) -> str:
        """What a person or a log is told: every rule, and no secret that this process has resolved, in any of its forms."""
        return self.text(without_secrets(text))

    def reference(self, reference: str) -> str:
        """Links, paths and ids: named shapes and secret query parameters only, so that they go on working.

        The same few ids come again and again, so those without a hit are remembered.
        """
        if reference in self._sound:
            return reference
        cut = self._apply(reference, _rules_for(reference))
        if cut == reference:
            if len(self._sound) >= _REMEMBERED:
                self._sound.clear()
            self._sound.add(reference)
        return cut

    def identifier(self, identifier: str) -> str:
        """An id: as `reference`; where that cut something, eight hex digits keep two ids apart."""
        cut = self.reference(identifier)
        if cut == identifier:
            return identifier
        from sapwood.text.names import short_hash

        return f"{cut}~{short_hash(identifier)}"

    def _apply(self, text: str, rules: Sequence[_Rule]) -> str:
        for rule in rules:

            def cut(match: re.Match[str], rule: _Rule = rule) -> str:
                secret = match.group("secret")
                if REDACTED in secret or (rule.accept and not rule.accept(match)):
                    return match.group()
                self.counts[rule.name] += 1
                start = match.start("secret") - match.start()
                end = match.end("secret") - match.start()
                return match.group()[:start] + REDACTED + match.group()[end:]

            text = rule.pattern.sub(cut, text)
        return text

    def _cut_assignments(self, text: str) -> str:
        lowered = text.lower()
        if len(lowered) != len(text):  # a few capitals have no lower form of one character
            lowered = text.translate(_ASCII_LOWER)
        if not [hint for hint in _NAME_HINTS if hint in lowered]:
            return text
        parts: list[str] = []
        at = 0
        for word in _NAME_WORD.finditer(lowered):
            if word.end() < at or not (match := _VALUE.match(text, word.end())):
                continue
            name = word.group()
            head = _NAME_HEAD.get(name)
            if (head and not head.search(text, max(0, word.start() - 16), word.start())) or not _assigned(name, match):
                continue
            self.counts["assignment"] += 1
            start, end = match.span("quoted" if match.group("quoted") is not None else "bare")
            if match.group("bare") is not None and not match.group("bare").isalpha():
                while text[end : end + 1] in ("!", "?", "#", "$", "%", "^", "&", "*", "~"):
                    end += 1  # a sign that ends a sentence after a word ends a password too
            parts += [text[at:start], REDACTED]
            at = end
        return "".join(parts) + text[at:] if parts else text

    def _cut_runs(self, text: str) -> str:
        if len(max(text.split(), key=len, default="")) < 32:
            return text
        runs = [m for m in _RUN.finditer(text) if _looks_random(m.group())]
        if not runs:
            return text
        links = [m.span() for m in _LINK.finditer(text)]
        parts: list[str] = []
        at = 0
        for match in runs:
            start, end = match.span()
            if any(a <= start < b for a, b in links) or _in_blob(text, start, end):
                continue
            self.counts["high entropy"] += 1
            parts += [text[at:start], REDACTED]
            at = end
        return "".join(parts) + text[at:] if parts else text


def _looks_random(run: str) -> bool:
    """32 to 128 characters of three classes with at least 4.0 bits a character, and not words joined by marks."""
    if len(run) > 128 or _HEX.match(run):
        return False
    lower, upper, digits = (sum(map(test, run)) for test in (str.islower, str.isupper, str.isdigit))
    if not (lower and upper and digits >= 2):
        return False
    pieces = [piece for piece in re.split(r"[-_/+=]", run) if piece]
    if (
        len(pieces) > 2
        and max(map(len, pieces)) < 20
        and sum(bool(re.fullmatch(r"[A-Za-z]?[a-z]+|[A-Z]+|\d{1,4}", p)) for p in pieces) >= len(pieces) / 2
    ):
        return False  # a path, a slug, a file name
    if len(re.findall(r"[a-z]{5,}", run)) >= len(run) / 14:
        return False  # CamelCase words
    total = len(run)
    return -sum(n / total * math.log2(n / total) for n in Counter(run).values()) >= 4.0


def _in_blob(text: str, start: int, end: int) -> bool:
    """True when the line before or after is of the same alphabet and about as long: encoded data, not a key."""
    for line in (text[:start].rstrip("\n").rpartition("\n")[2], text[end:].lstrip("\n").partition("\n")[0]):
        line = line.strip(" >\t")
        if len(line) >= 32 and re.fullmatch(r"[A-Za-z0-9+/=_\-]+", line):
            return True
    return False


def _luhn(number: str) -> bool:
    digits = [int(c) for c in number if c.isdigit()]
    doubled = [d if i % 2 == 0 else sum(divmod(2 * d, 10)) for i, d in enumerate(reversed(digits))]
    return len(digits) in range(13, 20) and sum(doubled) % 10 == 0


def _identity(number: str) -> bool:
    """GB 11643-1999: weights 2^(17-i) mod 11, check digit out of `10X98765432`."""
    total = sum(int(digit) * (2 ** (17 - i) % 11) for i, digit in enumerate(number[:17]))
    return "10X98765432"[total % 11] == number[17].upper()
