"""Words, names, texts, numbers and signs of a statement, read in order; comments are left out, but
for Flink's hint OPTIONS.
"""

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn, TypeVar

_SINGLE = {True: r"(?:[^'\\]|''|\\.)*", False: r"(?:[^']|'')*"}
_DOUBLE = {True: r'(?:[^"\\]|""|\\.)*', False: r'(?:[^"]|"")*'}
_FORMS = {
    has_escapes: re.compile(
        rf"""(?P<hint>/\*\+\s*(?i:OPTIONS)\s*\((?:[^'()]|'[^']*')*\)\s*\*/)
          | (?P<space>\s+|--[^\n]*|/\*.*?\*/)
          | (?P<text>'{_SINGLE[has_escapes]}'|"{_DOUBLE[has_escapes]}")
          | (?P<name>`(?:[^`]|``)+`)
          | (?P<number>\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![A-Za-z_]))
          | (?P<word>\w+)
          | (?P<sign>.)""",
        re.VERBOSE | re.DOTALL,
    )
    for has_escapes in (True, False)
}
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[0-3][0-7]{2}|.)", re.DOTALL)
# As Spark reads them. % and _ stay escaped, as LIKE takes them.
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "0": "\0", "Z": "\x1a"}
_ESCAPES |= {"%": "\\%", "_": "\\_"}
HINT = "hint"
Item = TypeVar("Item")


@dataclass(frozen=True)
class Token:
    """`kind` is text, name, number, word, sign, hint or end; `value` has no quotes and escapes."""

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
    code = found[1]
    if len(code) == 1:
        return _ESCAPES.get(code, code)
    number = int(code[1:], 16) if code[0] in "uU" else int(code, 8)
    return chr(number) if number <= sys.maxunicode else code


class SyntaxMismatch(Exception):
    """The statement does not follow the grammar."""


class Cursor:
    """A position in a list of tokens, the last of which is an end."""

    def __init__(self, tokens: Sequence[Token], at: int = 0) -> None:
        self._tokens = tokens
        self.at = at

    @property
    def next(self) -> Token:
        """The next token; the position stays."""
        return self._tokens[self.at]

    @property
    def following(self) -> Token:
        """The token behind the next one, or the end."""
        return self._tokens[min(self.at + 1, len(self._tokens) - 1)]

    @property
    def before(self) -> Token:
        """The token that was passed last."""
        return self._tokens[self.at - 1]

    def take(self) -> Token:
        """The next token, which is passed."""
        token = self.next
        self.at = min(self.at + 1, len(self._tokens) - 1)
        return token

    def sees(self, *words: str) -> bool:
        """Whether these words and signs come next."""
        coming = self._tokens[self.at : self.at + len(words)]
        return len(coming) == len(words) and all(map(_is, coming, words))

    def accept(self, *words: str) -> bool:
        """Whether these words and signs come next; if so they are passed."""
        if not self.sees(*words):
            return False
        self.at += len(words)
        return True

    def expect(self, *words: str) -> None:
        """Pass these words and signs."""
        for word in words:
            if not self.accept(word):
                self.fail(word)

    def fail(self, expected: str) -> NoReturn:
        """Raise SyntaxMismatch, which says what was expected and what was found."""
        found = self.next
        raise SyntaxMismatch(f"line {found.line}: expected {expected}, found {found.value}")

    def name(self) -> str:
        """An identifier."""
        if self.next.kind not in ("word", "name"):
            self.fail("a name")
        return self.take().value

    def path(self) -> tuple[str, ...]:
        """Identifiers with dots between them."""
        parts = [self.name()]
        while self.accept("."):
            parts.append(self.name())
        return tuple(parts)

    def text(self) -> str:
        """A string."""
        if self.next.kind != "text":
            self.fail("a string in quotes")
        return self.take().value

    def whole(self) -> int:
        """A whole number."""
        if not (self.next.kind == "number" and self.next.value.isdigit()):
            self.fail("a whole number")
        return int(self.take().value)

    def listed(
        self,
        item: Callable[[], Item],
        begin: str = "(",
        end: str = ")",
        *,
        ends_with_comma: bool = False,
    ) -> list[Item]:
        """Items between parentheses, or other brackets, with commas between them; one may stand
        behind the last.
        """
        self.expect(begin)
        found = [item()]
        while self.accept(",") and not (ends_with_comma and self.sees(end)):
            found.append(item())
        self.expect(end)
        return found

    def sizes(self) -> list[int]:
        """The numbers behind a type's name; none for `(*)`."""
        if self.accept("(", "*", ")") or not self.sees("("):
            return []
        return self.listed(self.whole)

    def is_nullable(self) -> bool:
        """Whether NOT NULL does not come next; `NULL` may."""
        if self.accept("NOT", "NULL"):
            return False
        self.accept("NULL")
        return True

    def properties(self) -> dict[str, str]:
        """`('name' = 'value', …)`."""
        return dict(self.listed(self._property)) if not self.accept("(", ")") else {}

    def _property(self) -> tuple[str, str]:
        name = self.text()
        self.expect("=")
        return name, self.text()

    def skip_parentheses(self) -> None:
        """Pass everything between a pair of parentheses."""
        self.expect("(")
        depth = 1
        while depth:
            if self.next.kind == "end":
                self.fail(")")
            token = self.take()
            depth += token.is_sign("(") - token.is_sign(")")


def _is(token: Token, word: str) -> bool:
    return token.is_sign(word) if len(word) == 1 and not word.isalnum() else token.is_word(word)
