"""The repositories of a machine: one bare mirror for each remote, and a clone for each loop, which borrows the mirror's objects.

So a clone is created quickly, and branches and stash of an agent do not affect other loops.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from untildone.hosts.cluster import ownership
from untildone.workspace.git import GitFailed, git, line_of

HEAD = "HEAD"
_KEPT_HEAD = f"+{HEAD}:refs/fetched/head"
"""The only ref that a mirror keeps, so that its commits are not fetched again. More refs would make each fetch slower."""


@cache
def mirror_of(folder: Path, remote: str) -> Mirror:
    """The mirror of a remote, shared by all loops of this machine."""
    return Mirror(folder / "mirrors" / f"{hashlib.sha256(remote.encode()).hexdigest()[:16]}.git", remote)


class Mirror:
    """A bare repository with the objects of a remote."""

    def __init__(self, path: Path, remote: str) -> None:
        self.path = path
        self.remote = remote
        self._template = path.with_suffix(".template")
        """A clone without files. Copying it needs no process."""
        self._known: set[str] = set()
        """Commits that the mirror contains."""
        self._changing = threading.Lock()

    def ensure(self) -> None:
        """Create the mirror if it does not exist."""
        with self._changing:
            if not self.path.exists():
                self._known.clear()
                self.path.parent.mkdir(parents=True, exist_ok=True)
                draft = tempfile.mkdtemp(".tmp", "mirror-", self.path.parent)
                git(draft, "init", "--quiet", "--bare")
                os.rename(draft, self.path)

    def fetch(self, commits: Mapping[str, str], *, again: bool = False) -> bool:
        """Fetch missing commits, each from its ref of the remote. Returns whether the mirror contains all of them then.

        With `again`, fetch all of them, because objects of a commit may be missing."""
        with self._changing:
            missing = commits if again else self._missing(commits)
            if missing:
                specs = (_KEPT_HEAD if ref == HEAD else ref for ref in missing.values())
                ownership.fetch(str(self.path), self.remote, *specs)
            return not self._missing(missing)

    def fetch_commit(self, commit: str) -> bool:
        """Fetch a commit by its name: most remotes still give one that no ref has any more, until they clean up."""
        with suppress(GitFailed):
            return self.fetch({commit: commit})
        return False

    def has(self, commit: str) -> bool:
        """Whether the mirror contains a commit."""
        with self._changing:
            return not self._missing({commit: ""})

    def _missing(self, commits: Mapping[str, str]) -> Mapping[str, str]:
        unknown = [commit for commit in commits if commit not in self._known]
        if unknown:
            names = "".join(f"{commit}\n" for commit in unknown).encode()
            present = line_of(git(str(self.path), "cat-file", "--batch-check=%(objectname)", stdin=names)).splitlines()
            self._known.update(set(unknown) & set(present))
        return {commit: ref for commit, ref in commits.items() if commit not in self._known}

    def clone(self, place: Path) -> None:
        """Create a clone in `place`. It is made in a temp folder and renamed, so that no partial clone can exist."""
        shutil.rmtree(place, ignore_errors=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(".tmp", "clone-", place.parent) as draft:
            clone = os.path.join(draft, "clone")
            shutil.copytree(self._made_template(), os.path.join(clone, ".git"), symlinks=True)
            os.rename(clone, place)

    def discard_template(self) -> None:
        """Delete the template, so that the next clone creates it again."""
        with self._changing:
            shutil.rmtree(self._template, ignore_errors=True)

    def _made_template(self) -> Path:
        with self._changing:
            if not self._template.exists():
                with tempfile.TemporaryDirectory(".tmp", "template-", self.path.parent) as draft:
                    clone = os.path.join(draft, "clone")
                    git(draft, "clone", "--quiet", "--shared", "--no-checkout", str(self.path), clone, remote=True)
                    git(clone, "remote", "set-url", "origin", self.remote)
                    for sample in Path(clone, ".git", "hooks").glob("*.sample"):
                        sample.unlink()
                    os.rename(os.path.join(clone, ".git"), self._template)
            return self._template
