"""What files of a tree refer to: modules that they import, scripts that they read, data that they name. Best effort."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from untildone.core.judging.globs import words
from untildone.core.judging.trees import Tree, ancestors, parent, resolved

MOST_READ = 5000
"""Files of a tree that are looked at; in larger trees, those beyond it are not."""
CODE = words(
    ".py .js .jsx .ts .tsx .mjs .cjs .mts .cts .vue .svelte .go .rs .java .kt .kts .groovy .scala .rb .php .c .cc .cpp .cxx .h .hh .hpp "
    ".cs .fs .vb .sh .bash .zsh .bats .t .pl .pm .lua .ex .exs .swift .zig .hs .ml .erl .dart .r .R .jl .cmake .robot "
    ".resource"
)
_JS = (".js", ".ts", ".mjs", ".cjs", ".tsx", ".jsx", ".mts", ".cts", ".json")
_JS_IMPORT = re.compile(
    r"""(?:\bfrom|\bimport|\brequire|\bimportActual|\bmock|\bextends['"]?\s*:|\bloader)\s*\(?\s*['"`]([.#][^'"`\n]*)['"`]"""
)
_JS_PACKAGE = re.compile(r"""(?:\bfrom|\bimport|\brequire)\s*\(?\s*['"`]([@\w][^'"`\n:]*)['"`]""")
_RUBY_IMPORT = re.compile(r"""\b(?:require_relative|require|load)\s*\(?\s*['"]([^'"\n]+)['"]""")
_SOURCED = re.compile(r"""(?:^|[;&|]|\bthen|\bdo)\s*(?:\.|source)\s+(.+)""", re.MULTILINE)
_BATS_LOADED = re.compile(r"""^\s*(?:bats_)?load\s+['"]?([\w./-]+)""", re.MULTILINE)
_ROBOT_LOADED = re.compile(r"^(?:Resource|Library|Variables)(?:\s{2,}|\t)\s*(?:\$\{CURDIR\}/)?([\w./-]+)", re.MULTILINE)
_RUST_PATH = re.compile(
    r"""#\[path\s*=\s*"([^"]+)"\]|include(?:_str|_bytes)?!\s*\(\s*"([^"]+)"|^\s*(?:pub\s+)?mod\s+(\w+)\s*;""", re.M
)
_QUOTED_INCLUDE = re.compile(
    r"""^\s*#\s*include\s+"([^"]+)"|\b(?:require|include)(?:_once)?\b[^;'"]*['"]([^'"]+)['"]""", re.M
)
_GO_IMPORT = re.compile(r'"([\w./-]+/[\w./-]+)"')
_CMAKE_INCLUDE = re.compile(r"(?i)\binclude\s*\(\s*\"?([^)\"\s]+)")
_LITERAL = re.compile(r"""(['"`])([\w@%+,./ -]{2,200})\1""")
_NAMED_FOLDER = r"(?:\./)?([\w@-][\w@.-]*(?:/[\w@-][\w@.-]*)*)"
_FOLDER = re.compile(
    rf"""['"`]{_NAMED_FOLDER}/[{{*$%]"""
    rf"""|\b(?:Path|i?glob|listdir|scandir|walk|join(?:path)?|readdir(?:Sync)?|ReadDir|Dir)\(\s*(?:[^()'"`]*,\s*)?['"`]{_NAMED_FOLDER}/?['"`]"""
)
"""A literal that begins with the name of a folder, or names one for a function that reads folders."""
_ROOTS = ("", "src", "lib", "tests", "test")


def imports(path: str, text: str, tree: Tree) -> frozenset[str]:
    """The files of the tree that a file imports, reads in or includes."""
    key = (path, text)
    if key not in tree.imported:
        suffix = path[path.rfind(".") :] if "." in path.rpartition("/")[2] else ""
        find = _FINDERS.get(suffix, _shell if text.startswith("#!") else None)
        tree.imported[key] = (
            frozenset(found for found in find(path, text, tree) if found != path) if find else frozenset()
        )
    return tree.imported[key]


def data(path: str, text: str, tree: Tree) -> frozenset[str]:
    """The files of the tree that are no code and that string literals of a file name."""
    names = {literal.strip() for _, literal in _LITERAL.findall(text)}
    found = {found for name in names for found in _data_files(name, path, tree)}
    folders = {folder for names in _FOLDER.findall(text) if (folder := resolved("".join(names), "")) in tree.folders}
    return frozenset(found | {file for folder in folders for file in _data_folder(folder or "", tree)})


def _data_folder(folder: str, tree: Tree) -> Sequence[str]:
    """The files of a folder that holds nothing but data."""
    files = tree.below(folder)
    return () if any(map(is_code, files)) else files


def modules(text: str) -> frozenset[str]:
    """The names of the modules at the top that a Python file imports from elsewhere."""
    try:
        nodes = list(_statements(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    plain = {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
    taken = {node.module for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
    return frozenset(name.partition(".")[0] for name in plain | taken if name)


def _statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """All statements of a program, those inside of others too. To visit expressions as well takes ten times as long."""
    waiting: list[ast.stmt] = list(tree.body)
    while waiting:
        node = waiting.pop()
        yield node
        inner = [node, *getattr(node, "handlers", ()), *getattr(node, "cases", ())]
        waiting += [
            each for part in inner for name in ("body", "orelse", "finalbody") for each in getattr(part, name, ())
        ]


def module_files(module: str, folders: Iterable[str], tree: Tree) -> Iterator[str]:
    """The files of the tree that a Python module may be, packages around it included."""
    name = module.replace(".", "/")
    for folder in dict.fromkeys(folders):
        base = f"{folder}/{name}" if folder else name
        yield from (file for file in (f"{base}.py", f"{base}/__init__.py", f"{base}/__main__.py") if file in tree.files)


def named(word: str, folder: str, tree: Tree) -> str | None:
    """The file of the tree that a word of settings names, seen from their folder or from the root."""
    plain = re.sub(r"^(?:<rootDir>|\$\{?\w+\}?|%\w+%|\$\([^)]*\))/", "", word)
    for place in dict.fromkeys((folder, "")):
        path = resolved(plain, place)
        for candidate in (
            (path, *(f"{path}{end}" for end in (*_JS, ".rb", ".py", ".php", ".just", "/mod.just"))) if path else ()
        ):
            if candidate in tree.files:
                return candidate
    return None


def _python(path: str, text: str, tree: Tree) -> Iterator[str]:
    try:
        nodes = list(_statements(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    folders = (*_ROOTS, parent(path), *ancestors(path), *tree.python_roots)
    for node in nodes:
        if isinstance(node, ast.Import):
            for name in node.names:
                yield from module_files(name.name, folders, tree)
        elif isinstance(node, ast.ImportFrom):
            yield from _taken_from(node, path, folders, tree)
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytest_plugins":
            constants = [inner.value for inner in ast.walk(node.value) if isinstance(inner, ast.Constant)]
            for constant in constants:
                yield from module_files(constant, folders, tree) if isinstance(constant, str) else ()


def _taken_from(node: ast.ImportFrom, path: str, folders: Iterable[str], tree: Tree) -> Iterator[str]:
    module = node.module or ""
    if node.level:
        around = [parent(path), *ancestors(parent(path)), ""]
        folders = around[node.level - 1 : node.level]
    yield from module_files(module, folders, tree) if module else ()
    for name in node.names:
        yield from module_files(f"{module}.{name.name}".strip("."), folders, tree)


def _javascript(path: str, text: str, tree: Tree) -> Iterator[str]:
    for name in _JS_IMPORT.findall(text):
        if name.startswith("."):
            yield from _with_ends(resolved(name, parent(path)), tree)
    for name in _JS_PACKAGE.findall(text) if tree.packages else ():
        parts = name.split("/")
        depth = 2 if name.startswith("@") else 1
        folder, rest = tree.packages.get("/".join(parts[:depth])), "/".join(parts[depth:])
        if folder is not None:
            yield from _with_ends(f"{folder}/{rest}" if rest else folder, tree)
            yield from () if rest else _with_ends(f"{folder}/src", tree)


def _with_ends(base: str | None, tree: Tree) -> Iterator[str]:
    if base is None:
        return
    stem = re.sub(r"\.[mc]?jsx?\Z", "", base)
    ends = (base, *(f"{one}{end}" for one in dict.fromkeys((base, stem)) for end in _JS))
    yield from (name for name in (*ends, *(f"{base}/index{end}" for end in _JS)) if name in tree.files)


def _ruby(path: str, text: str, tree: Tree) -> Iterator[str]:
    for name in _RUBY_IMPORT.findall(text):
        for folder in dict.fromkeys((parent(path), "", "lib", "spec", "test")):
            found = resolved(name.removesuffix(".rb") + ".rb", folder)
            if found and found in tree.files:
                yield found


def _shell(path: str, text: str, tree: Tree) -> Iterator[str]:
    for rest in _SOURCED.findall(text):
        yield from _ends_with(rest, path, tree)


def _ends_with(word: str, path: str, tree: Tree) -> Iterator[str]:
    """The file that a word of a shell script names; variables and `$(dirname …)` before its last parts are left out."""
    plain = re.sub(r"\$\((?:[^()]|\([^()]*\))*\)|\$\{?\w+\}?(?:[%#][^}]*\})?|[\"']", "", word).split()
    tail = plain[0] if plain else ""
    for folder in (parent(path), ""):
        found = resolved(tail.lstrip("/"), folder)
        if found and found in tree.files:
            yield found
            return
    parts = tail.replace("../", "").strip("/.")
    yield from (name for name in tree.files if parts and (name == parts or name.endswith(f"/{parts}")))


def _bats(path: str, text: str, tree: Tree) -> Iterator[str]:
    yield from _shell(path, text, tree)
    for word in _BATS_LOADED.findall(text):
        bases = [base for name in (word, f"{word}.bash", f"{word}.sh") if (base := resolved(name, parent(path)))]
        yield from [base for base in bases if base in tree.files][:1]


def _robot(path: str, text: str, tree: Tree) -> Iterator[str]:
    for word in _ROBOT_LOADED.findall(text):
        names = (resolved(word, place) for place in (parent(path), ""))
        yield from [name for name in names if name and name in tree.files][:1]


def _rust(path: str, text: str, tree: Tree) -> Iterator[str]:
    for place, included, module in _RUST_PATH.findall(text):
        names = [place or included] if place or included else [f"{module}.rs", f"{module}/mod.rs"]
        inner = path.rpartition("/")[2] not in ("mod.rs", "lib.rs", "main.rs") and bool(module)
        for folder in (parent(path), *([path.removesuffix(".rs")] if inner else [])):
            yield from (found for name in names if (found := resolved(name, folder)) and found in tree.files)


def _included(path: str, text: str, tree: Tree) -> Iterator[str]:
    for names in _QUOTED_INCLUDE.findall(text):
        yield from _ends_with("".join(names), path, tree)


def _go(_path: str, text: str, tree: Tree) -> Iterator[str]:
    for name in _GO_IMPORT.findall(text):
        parts = name.split("/")
        tails = ("/".join(parts[number:]) for number in range(1, len(parts)))
        folder = next((tail for tail in tails if tail in tree.folders), None)
        if folder:
            yield from (file for file in tree.files if parent(file) == folder and file.endswith(".go"))


def _cmake(path: str, text: str, tree: Tree) -> Iterator[str]:
    for name in _CMAKE_INCLUDE.findall(text):
        yield from _ends_with(name, path, tree)


_FINDERS: dict[str, Callable[[str, str, Tree], Iterator[str]]] = {
    ".py": _python,
    **dict.fromkeys((".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts", ".vue", ".svelte"), _javascript),
    ".rb": _ruby,
    **dict.fromkeys((".sh", ".bash", ".zsh"), _shell),
    ".bats": _bats,
    **dict.fromkeys((".robot", ".resource"), _robot),
    ".rs": _rust,
    **dict.fromkeys((".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".php"), _included),
    ".go": _go,
    **dict.fromkeys((".cmake", ".txt"), _cmake),
}


def _data_files(name: str, path: str, tree: Tree) -> Iterator[str]:
    """The files that a literal names: from the folder of the file, from the root, or by their last parts if these are unique."""
    if "." not in name.rpartition("/")[2].lstrip("."):
        return
    for folder in (parent(path), ""):
        found = resolved(name, folder)
        if found and found in tree.files:
            yield found
            return
    parts = re.sub(r"^(?:\.\.?/)+", "", name)
    same = tree.ending_in(parts)
    yield from same if len(same) == 1 else ()


class Importers:
    """Finds the files of a tree that refer to a file."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._texts: dict[str, str] | None = None
        self._imports: dict[str, frozenset[str]] = {}
        self._data: dict[str, frozenset[str]] = {}

    def of(self, path: str) -> tuple[str, ...]:
        """The files that import it."""
        stem = _stem(path)
        return tuple(file for file, text in self._read().items() if stem in text and path in self._imported(file, text))

    def naming(self, path: str) -> tuple[str, ...]:
        """The files that name it in a string, or mention its name at all if they are no code of the same kind."""
        folders = [folder for folder in ancestors(path) if _data_folder(folder, self._tree)]
        names = (path.rpartition("/")[2], *(folder.rpartition("/")[2] for folder in folders))
        texts = self._read().items()
        return tuple(
            file for file, text in texts if any(map(text.__contains__, names)) and path in self._named(file, text)
        )

    def _imported(self, file: str, text: str) -> frozenset[str]:
        if file not in self._imports:
            self._imports[file] = imports(file, text, self._tree)
        return self._imports[file]

    def _named(self, file: str, text: str) -> frozenset[str]:
        if file not in self._data:
            self._data[file] = data(file, text, self._tree)
        return self._data[file]

    def _read(self) -> dict[str, str]:
        if self._texts is None:
            code = [path for path in self._tree.files if is_code(path) and not _FOREIGN.search(f"/{path}")][:MOST_READ]
            self._tree.fetch(code)
            self._texts = {path: self._tree.text(path) for path in code}
        return self._texts


_FOREIGN = re.compile(r"/(?:node_modules|\.venv|venv|site-packages|vendor|third_party|\.git)/")


def is_code(path: str) -> bool:
    """Whether the file is a program or a part of one, by its name."""
    name = path.rpartition("/")[2]
    return name[name.rfind(".") :] in CODE if "." in name else False


def _stem(path: str) -> str:
    """What every file that imports the path must mention."""
    name = path.rpartition("/")[2]
    stem = name.partition(".")[0]
    folder = parent(path).rpartition("/")[2]
    return folder if stem in ("__init__", "__main__", "index", "mod") or path.endswith(".go") else stem
