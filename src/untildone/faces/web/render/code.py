"""Source code in colours: Pygments finds the tokens, a class of our own style sheet (`code.css`) stands for each kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from markupsafe import Markup
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.token import Comment, Keyword, Literal, Name, Number, Operator, String
from pygments.util import ClassNotFound

from untildone.faces.web.render.bidi import marked

LONGEST = 200_000
"""Longer code, in characters, is shown without colours."""
_USUAL = """
    ada awk bash batch bibtex c c# clojure cmake common-lisp console cpp crystal css cuda cython d dart diff django docker
    elisp elixir elm erlang fish fortran fsharp gas gdscript gherkin go graphql groovy handlebars haskell hcl html html+jinja http ini
    java javascript jinja js json json5 julia kotlin less lua make markdown matlab meson nasm nginx nim nix objective-c ocaml
    perl php postgresql powershell prolog properties protobuf python python3 pytb pycon qml r racket rb rest restructuredtext rst ruby
    rust sass scala scheme scss sh smarty solidity sql swift systemd tcl terraform tex toml tsx turtle ts typescript typst
    v vb.net verilog vhdl vim vue wast xml xslt yaml zig
"""
LANGUAGES = frozenset(_USUAL.split())
"""The names of the lexers that are used. Others are rarely wanted, and some take minutes for lines that an agent can write: while one
reads, the server does nothing else."""
Piece = tuple[str, str]
"""A class, or none, and the text that it colours."""

# The first row that holds a token's type, or one of its parents, decides.
_CLASSES: tuple[tuple[Any, str], ...] = (
    (Comment, "tk-c"),
    (Keyword.Constant, "tk-n"),
    (Keyword, "tk-k"),
    (Operator.Word, "tk-k"),
    (String, "tk-s"),
    (Number, "tk-n"),
    (Literal, "tk-n"),
    (Name.Function, "tk-f"),
    (Name.Class, "tk-f"),
    (Name.Decorator, "tk-d"),
    (Name.Attribute, "tk-d"),
    (Name.Tag, "tk-t"),
    (Name.Constant, "tk-n"),
    (Name.Builtin, "tk-n"),
    (Name.Exception, "tk-f"),
)


def highlighted(code: str, language: str) -> Markup:
    """Code in the colours of a language, by its name or an alias; unknown languages have none."""
    return Markup("\n").join(map(markup, pieces_of(code, _named(language))))


def lines_of_file(code: str, path: str) -> list[list[Piece]]:
    """The lines of a file, each in pieces of one colour. The path determines the language."""
    return pieces_of(code, _for_file(path.rpartition("/")[2]))


def markup(pieces: Iterable[Piece]) -> Markup:
    """A line as markup."""
    return Markup("").join(
        Markup('<span class="{}">{}</span>').format(kind, marked(text)) if kind else marked(text)
        for kind, text in pieces
    )


def pieces_of(code: str, lexer: Lexer | None) -> list[list[Piece]]:
    """The lines of code, in the order and number of `code.split("\\n")`."""
    plain = [[("", line)] if line else [] for line in code.split("\n")]
    if lexer is None or len(code) > LONGEST:
        return plain
    lines: list[list[Piece]] = [[]]
    for kind, text in _tokens(code, lexer):
        first, *others = text.split("\n")
        lines[-1] += [(kind, first)] if first else []
        lines += [[(kind, part)] if part else [] for part in others]
    same = ["".join(text for _, text in line) for line in lines] == code.split("\n")
    return lines if same else plain  # a lexer that changes the text is not believed


def _tokens(code: str, lexer: Lexer) -> Iterator[Piece]:
    for kind, text in lexer.get_tokens(code):
        yield _class(kind), text


@lru_cache(maxsize=512)
def _class(kind: Any) -> str:
    return next((name for parent, name in _CLASSES if kind in parent), "")


_OPTIONS = {"stripnl": False, "ensurenl": False, "stripall": False}


@lru_cache(maxsize=128)
def _named(language: str) -> Lexer | None:
    try:
        return _known(get_lexer_by_name(language.strip().lower()[:40], **_OPTIONS)) if language.strip() else None
    except ClassNotFound:
        return None


@lru_cache(maxsize=256)
def _for_file(name: str) -> Lexer | None:
    try:
        return _known(get_lexer_for_filename(name, None, **_OPTIONS)) if name else None
    except ClassNotFound:
        return None


def _known(lexer: Lexer) -> Lexer | None:
    return lexer if LANGUAGES.intersection(lexer.aliases) else None
