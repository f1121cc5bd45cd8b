"""Words, names, texts, numbers and signs of a statement; comments are left out."""

import re
from dataclasses import dataclass

_SINGLE = {True: r"(?:[^'\\]|''|\\.)*", False: r"(?:[^']|'')*"}
_DOUBLE = {True: r'(?:[^"\\]|""|\\.)*', False: r'(?:[^"]|"")*'}
_FORMS = {
    has_escapes: re.compile(
        rf"""(?P<space>\s+|--[^\n]*|/\*.*?\*/)
          | (?P<text>'{_SINGLE[has_escapes]}'|"{_DOUBLE[has_escapes]}")
          | (?P<name>`(?:[^`]|``)+`)
          | (?P<number>\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![A-Za-z_]))
          | (?P<word>\w+)
          | (?P<sign>.)""",
        re.VERBOSE | re.DOTALL,
    )
    for has_escapes in (True, False)
}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}


@dataclass(frozen=True)
class Token:
    """`kind` is text, name, number, word, sign or end; `value` is without quotes and escapes."""

    kind: str
    value: str
    start: int
    line: int

    def is_word(self, word: str) -> bool:
        """Whether it is this word, in any letter case and without quotes."""
        return self.kind == "word" and self.value.upper() == word

    def is_sign(self, sign: str) -> bool:
        """Whether it is this sign."""
        return self.kind == "sign" and self.value == sign


def tokens(sql: str, has_escapes: bool) -> list[Token]:
    """All tokens and an end; a semicolon at the end is not part of the statement.

    `has_escapes` says whether a backslash in a text escapes the character after it.
    """
    found: list[Token] = []
    line = 1
    for match in _FORMS[has_escapes].finditer(sql):
        kind = str(match.lastgroup)
        if kind != "space":
            found.append(Token(kind, _value(kind, match.group(), has_escapes), match.start(), line))
        line += match.group().count("\n")
    while found and found[-1].is_sign(";"):
        found.pop()
    return [*found, Token("end", "the end", len(sql), line)]


def _value(kind: str, text: str, has_escapes: bool) -> str:
    if kind == "name":
        return text[1:-1].replace("``", "`")
    if kind != "text":
        return text
    inner = text[1:-1].replace(text[0] * 2, text[0])
    return _ESCAPE.sub(_unescaped, inner) if has_escapes else inner


def _unescaped(found: re.Match[str]) -> str:
    return _ESCAPES.get(found[1], found[1])
