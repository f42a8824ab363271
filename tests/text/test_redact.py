"""Secrets go, prose and links stay."""

from __future__ import annotations

import random
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.text.redact import REDACTED, Redaction

_ALNUM = string.ascii_letters + string.digits
_random = random.Random(11)


def _made(length: int, alphabet: str = _ALNUM) -> str:
    return "".join(_random.choice(alphabet) for _ in range(length))


KEYS = {
    "aws": "AKIA" + _made(16, string.ascii_uppercase + string.digits),
    "aws session": "ASIA" + _made(16, string.ascii_uppercase + string.digits),
    "github": "ghp_" + _made(36),
    "github fine-grained": "github_pat_" + _made(60),
    "gitlab": "glpat-" + _made(20),
    "npm": "npm_" + _made(36),
    "slack": "xoxb-" + _made(12, string.digits) + "-" + _made(24),
    "stripe": "sk_live_" + _made(24),
    "google": "AIza" + _made(35),
    "openai": "sk-" + _made(48),
    "openai project": "sk-proj-" + _made(20) + "_" + _made(20) + "-" + _made(10),
    "openai service": "sk-svcacct-" + _made(30) + "T3BlbkFJ" + _made(30),
    "openai admin": "sk-admin-" + _made(40),
    "anthropic api": "sk-ant-api03-" + _made(90),
    "anthropic admin": "sk-ant-admin01-" + _made(90),
    "anthropic oauth": "sk-ant-oat01-" + _made(90),
    "anthropic refresh": "sk-ant-ort01-" + _made(90),
    "jwt": "eyJ" + _made(20) + ".eyJ" + _made(40) + "." + _made(43),
    "aliyun": "LTAI" + _made(20),
    "sendgrid": "SG." + _made(22) + "." + _made(43),
    "twilio": "SK" + _made(32, "0123456789abcdef"),
    "no name": "aB3" + _made(37),
}


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("frame", ["密钥为{}。请勿外传", "key {} here", '"{}"', "`{}`,", "（{}）", "{}"])
def test_a_key_of_every_known_shape_is_cut_out_beside_any_neighbour(name: str, frame: str) -> None:
    key = KEYS[name]
    cut = Redaction().text(frame.format(key))
    assert key not in cut and key[-12:] not in cut
    assert REDACTED in cut
    assert Redaction().text(cut) == cut


_BODY = [_made(64) for _ in range(12)] + [_made(30) + "=="]
_PEM = ["-----BEGIN RSA PRIVATE KEY-----", *_BODY, "-----END RSA PRIVATE KEY-----"]


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(_PEM),
        "\n".join("> " + line for line in _PEM),
        "\r\n".join(_PEM),
        "\\n".join(_PEM),
        '{"key": "' + "\\n".join(_PEM) + '", "after": 1}',
        "\n".join(_PEM[:-1]) + "\n\nThis paragraph stays.",
        "\\n".join(_PEM[:-1]) + '", "after": 1}',
        " ".join(_PEM),
        "\n".join(_PEM).replace("RSA ", "OPENSSH "),
    ],
)
def test_a_private_key_goes_whole_and_takes_nothing_after_it(text: str) -> None:
    cut = Redaction().text("before\n" + text + "\nafter words")
    assert not [line for line in _BODY if line in cut]
    assert cut.startswith("before") and cut.endswith("after words")
    for kept in ("This paragraph stays.", '"after": 1}'):
        assert (kept in text) == (kept in cut)


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Authorization: Bearer abcdef1234567890", "abcdef1234567890"),
        ("authorization: Basic dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNzd29yZA"),
        ("password: hunter2", "hunter2"),
        ("password=letmein", "letmein"),
        ("DB_PASSWORD='correct horse battery'", "correct horse battery"),
        ("api_key=abcd1234efgh", "abcd1234efgh"),
        ('"client_secret": "x9x9x9x9"', "x9x9x9x9"),
        ("refresh_token = r-1234567890", "r-1234567890"),
        ("密码：abc123", "abc123"),
        ("登录密码是 Abc12345", "Abc12345"),
        ("The password is Tr0ub4dor&3.", "Tr0ub4dor&3"),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCY", "wJalrXUtnFEMI/K7MDENG/bPxRfiCY"),
        ("https://user:p4ssw0rd@example.org/x", "p4ssw0rd"),
        ("https://files.slack.com/a.pdf?token=xoxe-1-abcdefghijkl", "xoxe-1-abcdefghijkl"),
        ("https://x.example/cb?state=1&access_token=abcdef123456", "abcdef123456"),
        ("https://hooks.slack.com/services/T000/B000/abcdEFGH1234", "B000/abcdEFGH1234"),
        ("https://open.feishu.cn/open-apis/bot/v2/hook/12345678-aaaa-bbbb-cccc-1234567890ab", "12345678-aaaa"),
        ("DefaultEndpointsProtocol=https;AccountKey=abcdefghij0123456789ABCD==", "abcdefghij0123456789"),
    ],
)
def test_named_values_headers_and_links_lose_their_secret(text: str, secret: str) -> None:
    cut = Redaction().text(text)
    assert secret not in cut
    assert Redaction().text(cut) == cut


@pytest.mark.parametrize(
    "text",
    [
        'requires authentication.", "approve_with_id":',
        "the password reset page explains the token budget",
        "token: str = None",
        "def login(token: str, password: Optional[str]) -> None:",
        "password = os.environ['DB_PASSWORD']",
        "token = get_token()",
        "primary_key = 17",
        "secret: see the appendix",
        "The secret is 42 pages long.",
        "a94a8fe5ccb19ba61c4c0873d391e987982fbbd3",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "550e8400-e29b-41d4-a716-446655440000",
        "https://www.notion.so/Page-Title-0123456789abcdef0123456789abcdef",
        "https://docs.example.org/d/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms/edit",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUA8sAAAAFCAYAAACNbyblAAAAHElEQVQI12P4",
        "/usr/lib/python3/dist-packages/SomeProject/LongModuleName2024/readme.txt",
        "请把密码重置页面的说明发给我",
    ],
)
def test_prose_code_hashes_and_links_stay(text: str) -> None:
    assert Redaction().text(text) == text


def test_an_id_with_a_secret_keeps_apart_from_another() -> None:
    one, two = (Redaction().identifier(f"folder:x:{KEYS[name]}.md") for name in ("github", "npm"))
    assert one != two and KEYS["github"] not in one and one.startswith("folder:x:[REDACTED].md~")


def test_personal_numbers_go_only_when_asked_for() -> None:
    text = "身份证 11010519491231002X，手机 13812345678，卡 4111 1111 1111 1111"
    assert Redaction().text(text) == text
    cut = Redaction(personal=True).text(text)
    assert cut.count(REDACTED) == 3
    assert (
        Redaction(personal=True).text("订单 110105194912310021 号") == "订单 110105194912310021 号"
    )  # wrong check digit


def test_hits_are_counted_by_class_and_never_kept() -> None:
    redaction = Redaction()
    redaction.text(f"{KEYS['aws']} and {KEYS['github']}")
    assert redaction.counts == {"AWS key": 1, "GitHub token": 1}


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet=st.sampled_from("ab12 =:.\"'-_/&?@[]密码key token secret\n"), max_size=120))
def test_redacting_twice_is_redacting_once(text: str) -> None:
    once = Redaction().text(text)
    assert Redaction().text(once) == once


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("password: Yaml-pw_77!", "77!"), ("password: abc!def!", "def!"), ("password: 'it''s-s3cret'", "s3cret"), ("DB_PASS=dbpass_77", "dbpass_77"),
        ("pass: passval_13", "passval_13"), ("password：ｆｕｌｌ_58", "ｆｕｌｌ_58"), ("<password>xmlPw</password>", "xmlPw"),
        ('<add key="password" value="attr9pw"/>', "attr9pw"), ("os.environ['API_KEY'] = 'env_57x'", "env_57x"), ("tool --password flagpw run", "flagpw"),
        ("curl -u user:pw12345 https://example.org", "pw12345"), ("sshpass -p hidden1 ssh a", "hidden1"),
        ("machine example.org login me password netrcpw", "netrcpw"), ('"{\\"password\\": \\"esc_47\\"}"', "esc_47"), ("**Password:** bold_59", "bold_59"),
        ("Cookie: session=abcdef0123456789; theme=dark", "abcdef0123456789"),
    ],
)  # fmt: skip
def test_a_secret_is_cut_out_however_it_is_written(text: str, secret: str) -> None:
    cut = Redaction().text(text)
    assert secret not in cut and REDACTED in cut
    assert Redaction().text(cut) == cut


@pytest.mark.parametrize(
    "text",
    [
        "The first pass: all green, the second pass = none.", "Give it with --password env:NAME or --token FILE.", "<password></password>",
        "This tool takes --password PASSWORD and --token TOKEN.", "login to the site, then change the password soon", "compass = 12 degrees north",
        "A cookie: sweet and round.", "boarding pass: gate closes at 9", "bypass: 3 lanes",
    ],
)  # fmt: skip
def test_words_that_only_look_like_it_stay(text: str) -> None:
    assert Redaction().text(text) == text
