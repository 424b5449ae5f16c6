"""Whether two versions of a judge file mean the same: a formatter's work is no change."""

from __future__ import annotations

import ast
import inspect
import io
import json
import re
import tokenize
import tomllib

from untildone.core.judging.tables import TEXT_FOLDERS

_DIRECTIVE = re.compile(
    r"#\s*(?:pragma|type:\s*ignore|noqa|nosec|pylint|mypy|pyright|ruff|fmt|isort|coding|-\*-|!)", re.IGNORECASE
)


def has_other_line_ends(path: str, before: bytes, after: bytes) -> bool:
    """Whether a program differs in nothing but the ends of its lines."""
    is_program = path.endswith(".py") and not TEXT_FOLDERS.intersection(path.lower().split("/")[:-1])
    return is_program and before.replace(b"\r\n", b"\n") == after.replace(b"\r\n", b"\n")


def is_same(path: str, before: bytes, after: bytes) -> bool:
    """Whether only the format differs. Data is compared byte by byte, and so is every language that is not known here."""
    if before == after:
        return True
    folders = path.lower().split("/")[:-1]
    if TEXT_FOLDERS.intersection(folders):
        return False
    compare = {".py": _same_python, ".json": _same_json, ".toml": _same_toml}.get(path[path.rfind(".") :])
    in_tests = compare is not _same_python and any("test" in folder or "spec" in folder for folder in folders)
    try:
        return compare is not None and not in_tests and compare(before, after)
    except (SyntaxError, ValueError, RecursionError, MemoryError, tokenize.TokenError, UnicodeError):
        return False


def _same_python(before: bytes, after: bytes) -> bool:
    return (
        _words(before) == _words(after)
        and _syntax(before) == _syntax(after)
        and _directives(before) == _directives(after)
    )


def _words(source: bytes) -> list[bytes]:
    """The names and numbers of a program, a quick way to see that more than the format differs."""
    return re.findall(rb"[\w\x80-\xff]+", re.sub(rb"#[^\n]*", b"", source).lower())


def _syntax(source: bytes) -> str:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            _clean_docstring(node)
    return ast.dump(tree)


def _clean_docstring(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    """Formatters indent docstrings anew and strip their lines."""
    match node.body[:1]:
        case [ast.Expr(value=ast.Constant(value=str(text)) as constant)]:
            constant.value = "\n".join(line.rstrip() for line in inspect.cleandoc(text).splitlines()).strip()
            constant.kind = None


def _directives(source: bytes) -> list[str]:
    """Comments that tools obey, in their order."""
    tokens = tokenize.tokenize(io.BytesIO(source).readline)
    comments = [token.string for token in tokens if token.type == tokenize.COMMENT]
    return [" ".join(comment.split()) for comment in comments if _DIRECTIVE.match(comment)]


def _same_json(before: bytes, after: bytes) -> bool:
    return _pairs(before) == _pairs(after)


def _pairs(content: bytes) -> str:
    return repr(json.loads(content.decode("utf-8-sig"), object_pairs_hook=list))


def _same_toml(before: bytes, after: bytes) -> bool:
    return repr(tomllib.loads(before.decode())) == repr(tomllib.loads(after.decode()))
