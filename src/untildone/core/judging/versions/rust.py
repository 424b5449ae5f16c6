"""Unit tests inside Rust source files: the items marked with `#[test]`, `#[cfg(test)]` and their like."""

from __future__ import annotations

import re

from untildone.core.values.value import dataclass

_TOKENS = re.compile(
    r"""//[^\n]*|/\*|b?r(?P<hashes>\#*)"|b?"(?:\\.|[^"\\])*"|b?'(?:\\(?:x[0-9a-fA-F]{2}|u\{[^}]*\}|.)|[^'\\\n])'|[{}]""",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(r"#\s*\[([^\]]*)\]")
_TEST_ATTRIBUTE = re.compile(r"\s*(?:cfg\s*\(.*\btest\b|(?:\w+\s*::\s*)*\w*test\w*\s*(?:\(|\Z))", re.DOTALL)
_HEADER = re.compile(r"(?:\s|#\[[^\]]*\])*([^{};]*)([{;])")
_NAME = re.compile(r"\b(?:mod|fn|struct|enum|trait|const|static|type|union)\s+\w+")
_MACRO = re.compile(r"\bmacro_rules\s*!\s*((?:debug_)?assert\w*|panic|matches|unreachable|todo|unimplemented)\b")
_MODULE = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*;", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """An item for tests, mostly a module: its name and its place in the text."""

    name: str
    begin: int
    end: int
    depth: int
    """How many braces are open around it."""
    marked: bool
    """Whether another attribute stands before it, such as one that leaves it out."""


def test_blocks(text: str) -> tuple[Block, ...] | None:
    """The test modules of a file; None if the text cannot be followed."""
    code = _blanked(text)
    if code is None:
        return None
    blocks: list[Block] = []
    for mark in _ATTRIBUTE.finditer(code):
        header = _HEADER.match(code, mark.end())
        is_inside = bool(blocks) and mark.start() < blocks[-1].end
        if header is None or is_inside or not _is_for_tests(mark[1]):
            continue
        end = header.end() if header[2] == ";" else _closing(code, header.end())
        if end is None:
            return None
        before = code[: mark.start()].rstrip()
        marked = before.endswith("]") and not re.search(r"#\s*!\s*\[[^\]]*\]\Z", before)
        blocks.append(Block(_name(header[1]), mark.start(), end, before.count("{") - before.count("}"), marked))
    return tuple(blocks)


def _is_for_tests(attribute: str) -> bool:
    """Whether an attribute makes an item a test, or one that only tests have."""
    return _TEST_ATTRIBUTE.match(re.sub(r"not\s*\(\s*test\s*\)", "", attribute)) is not None


def _name(header: str) -> str:
    named = _NAME.search(header)
    return " ".join((named[0] if named else header).split())


def modules(text: str) -> frozenset[str]:
    """The modules of other files that a file makes a part of the program."""
    return frozenset(_MODULE.findall(_blanked(text) or ""))


def hidden_asserts(text: str) -> frozenset[str]:
    """The macros of the standard library that judge, and that the file defines itself."""
    return frozenset(_MACRO.findall(_blanked(text) or ""))


def _blanked(text: str) -> str | None:
    """The text with comments and literals blanked out, at the same positions; None if a comment or literal does not end."""
    pieces, position = [], 0
    while token := _TOKENS.search(text, position):
        pieces.append(text[position : token.start()])
        end = _end_of(text, token)
        if end is None:
            return None
        literal = text[token.start() : end]
        pieces.append(literal if literal in "{}" else re.sub(r"[^\n]", " ", literal))
        position = end
    return "".join((*pieces, text[position:]))


def _end_of(text: str, token: re.Match[str]) -> int | None:
    if token[0] == "/*":
        return _end_of_comment(text, token.end())
    if token["hashes"] is not None:
        end = text.find('"' + token["hashes"], token.end())
        return None if end < 0 else end + 1 + len(token["hashes"])
    return token.end()


def _end_of_comment(text: str, position: int) -> int | None:
    """Comments nest in Rust."""
    depth = 1
    for mark in re.compile(r"/\*|\*/").finditer(text, position):
        depth += 1 if mark[0] == "/*" else -1
        if not depth:
            return mark.end()
    return None


def _closing(code: str, begin: int) -> int | None:
    depth = 1
    for brace in re.compile(r"[{}]").finditer(code, begin):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return brace.end()
    return None


def same_tests(start: str, claimed: str) -> bool:
    """Whether every test module of the start is in the claimed text as it was, and nothing around it leaves it out."""
    before, after = test_blocks(start), test_blocks(claimed)
    if before is None or after is None:
        return False
    kept = [_seen(claimed, block) for block in after]
    return all(_seen(start, block) in kept for block in before)


def _seen(text: str, block: Block) -> tuple[str, int, bool]:
    return text[block.begin : block.end], block.depth, block.marked


def merged(start: str, claimed: str) -> str | None:
    """The claimed text with the test modules of the start; None if that cannot be done."""
    before, after = test_blocks(start), test_blocks(claimed)
    if before is None or after is None or len({block.name for block in before}) != len(before):
        return None
    names = {block.name for block in before}
    rest, position = [], 0
    for block in after:
        if block.name in names:
            rest.append(claimed[position : block.begin])
            position = block.end
    rest.append(claimed[position:])
    tests = "\n\n".join(start[block.begin : block.end] for block in before)
    text = "".join(rest).rstrip() + f"\n\n{_SEPARATOR}\n\n{tests}\n"
    return text if same_tests(start, text) else None


_SEPARATOR = "const _: () = ();"
"""Takes an attribute that stands at the end of the claimed text, so that it does not apply to the tests."""
