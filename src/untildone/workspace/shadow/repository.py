"""The bare git repository that keeps snapshots, outside the workspace. Git runs here with a configuration and environment of ours."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, time
from types import MappingProxyType

from untildone.system import disk
from untildone.workspace.git import GIT_SECONDS, GitFailed, Interrupted, git_program, never, reason_of, run
from untildone.workspace.shadow import objects
from untildone.workspace.shadow.values import Change, Content, File

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

_SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.attributesFile": os.devnull,
    "core.excludesFile": os.devnull,
    "core.fsmonitor": "false",
    "core.untrackedCache": "false",
    "core.autocrlf": "false",
    "core.safecrlf": "false",
    "core.fileMode": "true",
    "core.symlinks": "true",
    "core.trustctime": "true",
    "core.checkStat": "default",
    "core.quotePath": "false",
    # Names such as `git~1` are harmless where these snapshots are checked out.
    "core.protectNTFS": "false",
    "core.protectHFS": "false",
    # A snapshot that a power failure takes away is taken again; the journal, which names it, is synced.
    "core.fsync": "none",
    "core.compression": "1",
    "core.logAllRefUpdates": "false",
    "fastimport.unpackLimit": "1",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "advice.detachedHead": "false",
}
_OPTIONS = ("--no-pager", *(part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")))
_ATTRIBUTES = "* -text -eol -filter -ident -working-tree-encoding !diff !merge\n"
"""For `info/attributes`, which outweighs every `.gitattributes`: files are stored and checked out byte for byte."""
_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n"
_CONFIG_SHA256 = (
    "[core]\n\trepositoryformatversion = 1\n\tfilemode = true\n\tbare = true\n[extensions]\n\tobjectformat = sha256\n"
)
LISTED_WITHIN = 60.0
_LOOK_EVERY = 0.05
_CHUNK = 1 << 20
_MANY_PACKS = 40
_REMEMBERED = 6
"""How many trees are remembered by their files: those of one claim are asked for again and again."""

Changes = Mapping[bytes, File | Content | None]
"""What to change in a tree, by path; None removes a file."""


class Remembered:
    """The files of trees that were read and checked against their names, up to a number of files: loops of a server that begin with the
    same files need not read them again. What a name stands for never changes."""

    def __init__(self, most: int) -> None:
        self._most, self._count = most, 0
        self._known: OrderedDict[tuple[str, str], Mapping[bytes, File]] = OrderedDict()
        self._lock = threading.Lock()

    def recall(self, repository: str, tree: str) -> Mapping[bytes, File] | None:
        with self._lock:
            return self._known.get((repository, tree))

    def keep(self, repository: str, tree: str, files: Mapping[bytes, File]) -> None:
        with self._lock:
            if (repository, tree) not in self._known:
                self._known[repository, tree] = files
                self._count += 1 + len(files)
            while self._count > self._most:
                self._count -= 1 + len(self._known.popitem(last=False)[1])


_TREES = Remembered(50_000)


class Repository:
    """A bare repository for snapshots. Every method raises GitFailed if git fails."""

    def __init__(self, folder: Path, workspace: str) -> None:
        """`folder` is the git directory; `workspace` is where git must not be run from."""
        self.folder = folder
        self._workspace = workspace
        self._files: dict[str, Mapping[bytes, File]] = {}
        self._folders: dict[str, objects.Entries] = {}
        """Objects of folders that were read."""

    def ensure(self, object_format: str = "sha1") -> None:
        """Create the repository unless it exists. Its settings are made ours again: an agent could have written others there."""
        if (self.folder / "info" / "attributes").exists():
            self._settle()
            return
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        draft = self.folder.with_name(f"{self.folder.name}.{os.getpid()}-{threading.get_ident()}")
        try:
            init = ("init", "--quiet", "--bare", "--template=", f"--object-format={object_format}", str(draft))
            run((self._program, *_OPTIONS, *init), str(self.folder.parent), self._environment(), seconds=60)
            (draft / "info").mkdir(exist_ok=True)
            (draft / "info" / "attributes").write_text(_ATTRIBUTES)
            (draft / "config").write_text(_CONFIG_SHA256 if object_format == "sha256" else _CONFIG)
            shutil.rmtree(self.folder, ignore_errors=True)
            os.rename(draft, self.folder)
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    def _settle(self) -> None:
        """Make configuration and attributes those of a new repository, and look for objects nowhere else."""
        config = self.folder / "config"
        is_sha256 = b"objectformat = sha256" in _content(config)
        for path, text in (
            (config, _CONFIG_SHA256 if is_sha256 else _CONFIG),
            (self.folder / "info" / "attributes", _ATTRIBUTES),
        ):
            if _content(path) != text.encode():
                disk.replace_file(path, text.encode(), sync=False)
        for name in (
            "objects/info/alternates",
            "objects/info/http-alternates",
            "info/grafts",
            "config.worktree",
            "commondir",
        ):
            (self.folder / name).unlink(missing_ok=True)

    @property
    def _program(self) -> str:
        return git_program(self._workspace)

    def _environment(self, **more: str) -> dict[str, str]:
        """Nothing is inherited: no configuration, no helper, no variable of untildone."""
        return {
            "PATH": f"{os.path.dirname(self._program)}{os.pathsep}{os.defpath}",
            "HOME": str(self.folder),
            "LC_ALL": "C",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_DIR": str(self.folder),
            **more,
        }

    def git(
        self,
        *arguments: str,
        stdin: bytes = b"",
        work_tree: str | None = None,
        index: Path | None = None,
        seconds: float = GIT_SECONDS,
        wants_out: Callable[[], bool] = never,
    ) -> bytes:
        """The standard output of a git command in this repository; with `work_tree`, for the files there."""
        more = {"GIT_WORK_TREE": work_tree} if work_tree else {}
        env = self._environment(**more, **({"GIT_INDEX_FILE": str(index)} if index else {}))
        command = (self._program, *_OPTIONS, *arguments)
        return run(command, work_tree or str(self.folder), env, stdin, seconds=seconds, wants_out=wants_out)

    def stream(
        self, *arguments: str, work_tree: str, index: Path, wants_out: Callable[[], bool] = never
    ) -> Iterator[list[bytes]]:
        """The output of a command that ends each path with a zero byte, as it comes. Git is ended if the caller does not read on."""
        env = self._environment(GIT_WORK_TREE=work_tree, GIT_INDEX_FILE=str(index))
        command = (self._program, *_OPTIONS, *arguments)
        try:
            yield from _paths(command, work_tree, env, wants_out)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            raise GitFailed(str(error)) from error

    # Trees

    def write(
        self,
        ref: str,
        base: str | None,
        changes: Iterable[tuple[bytes, File | Content | None]],
        parent: str | None = None,
        wants_out: Callable[[], bool] = never,
    ) -> str:
        """Write the tree `base` (None: the empty tree) with `changes` applied, in one process; return its name. `ref` is moved to a new
        commit of that tree, after the commit `parent`."""
        env = self._environment()
        # A git that was killed leaves its lock. The caller holds a lock of its own.
        (self.folder / f"{ref}.lock").unlink(missing_ok=True)
        command = (
            self._program,
            *_OPTIONS,
            "fast-import",
            "--quiet",
            "--force",
            "--done",
            "--depth=0",
            "--date-format=raw",
        )
        try:
            answer = _fed(command, str(self.folder), env, _stream(ref, base, changes, parent), wants_out)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            raise GitFailed(str(error)) from error
        # `040000 tree <name>`, or `missing` for an empty tree.
        fields = answer.split()
        return fields[2].decode() if fields[0] == b"040000" else self.empty_tree()

    def empty_tree(self) -> str:
        return self.git("hash-object", "-t", "tree", "-w", "--stdin").decode().strip()

    def has_ref(self, ref: str) -> bool:
        return (self.folder / ref).is_file()

    def delete(self, *refs: str) -> None:
        for ref in refs:
            (self.folder / ref).unlink(missing_ok=True)

    def has(self, name: str) -> bool:
        """Whether a tree or a ref, and everything in it, is here."""
        try:
            self.git("rev-list", "--quiet", "--objects", name)
        except GitFailed:
            return False
        return True

    def files(self, tree: str, *, from_disk: bool = False) -> Mapping[bytes, File]:
        """Every file of a tree, by path. Each object is checked against its name, and the last trees are remembered: by this process,
        or with `from_disk`, by this object only. That notices what was replaced since another loop of the process read it."""
        if tree in self._files:
            return self._files[tree]
        shared = None if from_disk else _TREES.recall(str(self.folder), tree)
        if shared is not None:
            return shared
        with self._failing(), self._batch() as batch:
            files = MappingProxyType(objects.files(tree, self._folders, batch.read))
        self._files = {**dict([*self._files.items()][1 - _REMEMBERED :]), tree: files}
        _TREES.keep(str(self.folder), tree, files)
        return files

    def changed(self, before: str, after: str) -> tuple[Change, ...]:
        """The paths that differ between two trees, in order of path."""
        then, now = self.files(before), self.files(after)
        paths = sorted(path for path in then.keys() | now.keys() if then.get(path) != now.get(path))
        return tuple(Change(os.fsdecode(path), then.get(path), now.get(path)) for path in paths)

    def check(self, before: str, after: str) -> None:
        """Raise GitFailed unless the files that differ between two trees are here as they were written: git itself shows what it finds."""
        both = (file for change in self.changed(before, after) for file in (change.before, change.after))
        for _ in self.contents({file.blob for file in both if file and file.mode != objects.SUBMODULE}):
            pass

    def read(self, names: Iterable[str]) -> dict[str, bytes]:
        """The content of objects, by name. Raises GitFailed if one is missing, or is not the one of that name."""
        return dict(self.contents(names))

    def contents(self, names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """The content of objects, one after the other, as `read`. Git does not compare objects with their names, and any process that can
        write to the folder could replace one."""
        unique = list(dict.fromkeys(names))
        if not unique:
            return
        with self._failing(), self._batch() as batch:
            yield from batch.contents(unique)

    def _batch(self) -> objects.Batch:
        return objects.Batch((self._program, *_OPTIONS, "cat-file", "--batch"), str(self.folder), self._environment())

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            raise GitFailed(str(error)) from error

    def tidy(self) -> None:
        """Combine packs, if there are many: each write makes one."""
        if len(list((self.folder / "objects" / "pack").glob("*.pack"))) >= _MANY_PACKS:
            self.git("repack", "-d", "-q", "--geometric=2")

    def forget(self, *refs: str) -> None:
        """Delete refs, and every object that no other ref needs."""
        self.delete(*refs)
        self.git("repack", "-a", "-d", "-q", "--window=0")
        self.git("prune", "--expire=now")


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _stream(
    ref: str, base: str | None, changes: Iterable[tuple[bytes, File | Content | None]], parent: str | None
) -> Iterator[bytes]:
    """A stream for `git fast-import`: one commit, and the question for the name of its tree."""
    yield b"commit %b\ncommitter untildone <> %d +0000\ndata 0\n" % (ref.encode(), time())
    if parent:
        yield b"from %b\n" % parent.encode()
    yield b'M 040000 %b ""\n' % base.encode() if base else b"deleteall\n"
    for path, change in changes:
        match change:
            case None:
                yield b"D %b\n" % _quoted(path)
            case File():
                yield b"M %b %b %b\n" % (change.mode.encode(), change.blob.encode(), _quoted(path))
            case Content():
                yield b"M %b inline %b\ndata %d\n" % (change.mode.encode(), _quoted(path), len(change.data))
                yield change.data
                yield b"\n"
    yield b'ls ""\n\ndone\n'


def _quoted(path: bytes) -> bytes:
    return b'"%b"' % path.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")


def _fed(
    command: tuple[str, ...],
    folder: str,
    env: Mapping[str, str],
    stream: Iterator[bytes],
    wants_out: Callable[[], bool],
) -> bytes:
    """Feed `stream` to a command that answers in one line at the end; return that line."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=folder, env=env, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin is not None
        watchdog = threading.Timer(GIT_SECONDS, process.kill)
        watchdog.daemon = True
        watchdog.start()
        try:
            interrupted = not _written(process.stdin, stream, wants_out)
            if interrupted:
                process.kill()
            out, err = process.communicate()
        except BaseException:
            process.kill()
            raise
        finally:
            watchdog.cancel()
    if interrupted:
        raise Interrupted("interrupted")
    if process.returncode != 0:
        raise GitFailed(reason_of(err, process.returncode))
    return out


def _paths(
    command: tuple[str, ...], folder: str, env: Mapping[str, str], wants_out: Callable[[], bool]
) -> Iterator[list[bytes]]:
    nothing, pipe, rest = subprocess.DEVNULL, subprocess.PIPE, b""
    with subprocess.Popen(
        command, cwd=folder, env=env, stdin=nothing, stdout=pipe, stderr=nothing, bufsize=0
    ) as process:
        assert process.stdout
        try:
            for part in _parts(process.stdout.fileno(), wants_out):
                *paths, rest = (rest + part).split(b"\0")
                yield paths
        except BaseException:
            process.kill()
            raise
    if process.returncode != 0:
        raise GitFailed(reason_of(b"", process.returncode))


def _parts(descriptor: int, wants_out: Callable[[], bool]) -> Iterator[bytes]:
    deadline = monotonic() + LISTED_WITHIN
    while True:
        if not select.select([descriptor], [], [], _LOOK_EVERY)[0]:
            if wants_out():
                raise Interrupted("interrupted")
            if monotonic() > deadline:
                raise GitFailed("git takes too long")
        elif part := os.read(descriptor, _CHUNK):
            yield part
        else:
            return


def _written(pipe: IO[bytes], stream: Iterator[bytes], wants_out: Callable[[], bool]) -> bool:
    """Write a stream; False: the caller asked to stop. A pipe that breaks is reported by git's exit code."""
    try:
        for part in stream:
            if wants_out():
                return False
            pipe.write(part)
        pipe.flush()
    except BrokenPipeError:
        pass
    return True
