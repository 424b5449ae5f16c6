"""The repositories of a worker: one bare mirror for each remote, and clones for loops, which borrow the mirror's objects.

So a clone is made at once, and what an agent does to its branches or its stash is no other loop's business.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from untildone.hosts.cluster import ownership
from untildone.workspace.git import git, line_of

HEAD = "HEAD"
_KEPT_HEAD = f"+{HEAD}:refs/fetched/head"
"""The only ref that a mirror keeps: what it names need not be fetched again. More would make each fetch slower."""


@cache
def mirror_of(folder: Path, remote: str) -> Mirror:
    """One for all loops with that remote on this machine."""
    return Mirror(folder / "mirrors" / f"{hashlib.sha256(remote.encode()).hexdigest()[:16]}.git", remote)


class Mirror:
    def __init__(self, path: Path, remote: str) -> None:
        self.path = path
        self.remote = remote
        self._template = path.with_suffix(".template")
        """A clone without files, to be copied: that takes no process."""
        self._known: set[str] = set()
        """Commits that are here."""
        self._changing = threading.Lock()

    def ensure(self) -> None:
        with self._changing:
            if not self.path.exists():
                self._known.clear()
                self.path.parent.mkdir(parents=True, exist_ok=True)
                draft = tempfile.mkdtemp(".tmp", "mirror-", self.path.parent)
                git(draft, "init", "--quiet", "--bare")
                os.rename(draft, self.path)

    def bring(self, wanted: Mapping[str, str], *, again: bool = False) -> bool:
        """Fetch the commits that are not here, each from the ref of the remote that it is named with; whether all are here then.

        With `again`, those too that seem to be here: one may lack something."""
        with self._changing:
            missing = wanted if again else self._missing(wanted)
            if missing:
                specs = (_KEPT_HEAD if ref == HEAD else ref for ref in missing.values())
                ownership.fetch(str(self.path), self.remote, *specs)
            return not self._missing(missing)

    def _missing(self, wanted: Mapping[str, str]) -> Mapping[str, str]:
        unknown = [commit for commit in wanted if commit not in self._known]
        if unknown:
            asked = "".join(f"{commit}\n" for commit in unknown).encode()
            told = line_of(git(str(self.path), "cat-file", "--batch-check=%(objectname)", stdin=asked)).splitlines()
            self._known.update(set(unknown) & set(told))
        return {commit: ref for commit, ref in wanted.items() if commit not in self._known}

    def clone(self, place: Path) -> None:
        """Under another name first: a clone is there, or not at all."""
        shutil.rmtree(place, ignore_errors=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(".tmp", "clone-", place.parent) as draft:
            clone = os.path.join(draft, "clone")
            shutil.copytree(self._made_template(), os.path.join(clone, ".git"), symlinks=True)
            os.rename(clone, place)

    def make_template_anew(self) -> None:
        with self._changing:
            shutil.rmtree(self._template, ignore_errors=True)

    def _made_template(self) -> Path:
        with self._changing:
            if not self._template.exists():
                with tempfile.TemporaryDirectory(".tmp", "template-", self.path.parent) as draft:
                    clone = os.path.join(draft, "clone")
                    git(draft, "clone", "--quiet", "--shared", "--no-checkout", str(self.path), clone)
                    git(clone, "remote", "set-url", "origin", self.remote)
                    for sample in Path(clone, ".git", "hooks").glob("*.sample"):
                        sample.unlink()
                    os.rename(os.path.join(clone, ".git"), self._template)
            return self._template
