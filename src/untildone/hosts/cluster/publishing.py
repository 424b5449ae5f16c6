"""The work of a loop on many machines: fetched from a git remote, and published there after each turn.

Ignored files stay in the clone, and do not reach other machines.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from untildone.core.errors import Superseded, UsageError
from untildone.core.loop import Loop
from untildone.core.protection.secrets import Redactor
from untildone.hosts.cluster import ownership, starts
from untildone.hosts.cluster.clones import HEAD, Mirror, mirror_of
from untildone.hosts.cluster.ownership import Address, Move
from untildone.system import disk
from untildone.workspace import leaks
from untildone.workspace.git import GitFailed, git, root_of
from untildone.workspace.git_links import refuse_outward
from untildone.workspace.person_git import commits

if TYPE_CHECKING:
    from untildone.engine.stepper import Stepper

LEASE_ATTEMPTS = 20
"""How often moving the mark is tried again after another runner came first."""
TAKE_WITHIN, PUBLISH_WITHIN = 30.0, 600.0
"""Seconds for which an unreachable remote is retried: before a turn, and after a turn, whose work must not be lost."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 15.0
REFUSALS = 3
"""How often a push is tried that the remote refuses: refs are locked for a moment while another process changes or packs them."""
UNPUBLISHED = "unpublished"
"""The branch of a clone with work that could not be published."""
_LEFTOVERS = (*commits.UNFINISHED, "index.lock", "HEAD.lock")
"""Files of an unfinished operation of git."""

_writable: set[str] = set()
"""Remotes that accepted a mark from this process."""


def address_of(loop: Loop) -> Address:
    """Where the work of a loop is published. UsageError if the loop has no remote."""
    chosen = loop.settings
    if chosen.remote is None:
        raise UsageError(f"Loop {loop.loop_id} names no git remote.", "a cluster needs one to carry the work: --remote")
    branch = ownership.checked_branch(chosen.branch or f"untildone/{loop.loop_id}")
    return Address(ownership.checked_remote(chosen.remote), branch, loop.loop_id)


class Published:
    """The site of one attempt, which owns the loop's branch from `enter` on until another attempt enters."""

    def __init__(self, folder: Path, token: str, key: str = "") -> None:
        """`key` is the name of the key in the state folder of this machine."""
        self.folder = folder
        self._token = token
        self._key = key
        self._address = Address("", "", "")
        self._mark: str | None = None
        self._commit = ""
        """The commit of the branch on the remote, or the one that the branch starts from."""
        self._start: str | None = None
        """The commit that the loop started from, if the mirror has it. The mark keeps it on the remote."""
        self._has_branch = False
        self._keeps_out = False
        """Whether an earlier runner without a mark may still try to publish."""

    def enter(self, loop: Loop) -> str:
        self._address = address_of(loop)
        mirror = mirror_of(self.folder, self._address.remote)
        mirror.ensure()
        self._tried(lambda: self._take(mirror, loop), TAKE_WITHIN, lambda: False)
        place = self._place
        try:
            self._check_out(place, mirror, self._commit)
        except (GitFailed, OSError):
            # A crash may have left a broken clone: create it again.
            shutil.rmtree(place, ignore_errors=True)
            mirror.discard_template()
            mirror.fetch({self._commit: self._base_ref}, again=True)
            self._check_out(place, mirror, self._commit)
        return str(place)

    def keep_start(self, stepper: Stepper) -> None:
        starts.keep(stepper, self, self._key)

    @property
    def is_at_start(self) -> bool:
        return self._start == self._commit

    def show_start(self) -> bool:
        if self._start is None:
            return False
        shutil.rmtree(self._place, ignore_errors=True)
        self._check_out(self._place, mirror_of(self.folder, self._address.remote), self._start)
        return True

    def show_work(self) -> None:
        self._check_out(self._place, mirror_of(self.folder, self._address.remote), self._commit)

    @property
    def _place(self) -> Path:
        return self.folder / "work" / self._address.loop_id

    def _check_out(self, place: Path, mirror: Mirror, commit: str) -> None:
        """Set the files of the clone to a commit. Ignored files stay."""
        is_new = not (place / ".git").is_dir()
        if is_new:
            mirror.clone(place)
            disk.replace_file(self._settings_of(place), (place / ".git" / "config").read_bytes())
        self._take_back_settings(place)
        for name in _LEFTOVERS:
            _remove(place / ".git" / name)
        git(str(place), "checkout", "--quiet", "--force", "-B", self._address.branch, commit)
        if not is_new:
            git(str(place), "clean", "--quiet", "-ffd")

    def _settings_of(self, place: Path) -> Path:
        """Where git's settings of a clone are kept, out of the agent's reach."""
        folder = self.folder / "settings"
        folder.mkdir(exist_ok=True)
        return folder / place.name

    def _take_back_settings(self, place: Path) -> None:
        """Make git's settings of the clone what they were: an agent could set programs that git then starts outside of the box.
        GitFailed if git would write somewhere else."""
        refuse_outward(str(place))
        disk.replace_file(place / ".git" / "config", self._settings_of(place).read_bytes())
        for name in ("config.worktree", "info/attributes", "commondir"):
            _remove(place / ".git" / name)

    def begin(self, loop: Loop) -> None:
        """There is nothing to prepare: only the agent works in the clone."""

    def keep(self, loop: Loop, title: str, wants_out: Callable[[], bool], known: Redactor) -> commits.Kept:
        commit = self._publish(title, PUBLISH_WITHIN, wants_out, known)
        return commits.Kept(commit, commit is not None)

    def secure(self, loop: Loop, title: str, known: Redactor) -> None:
        self._publish(title, 0.0, lambda: True, known)

    def leave(self, loop: Loop) -> None:
        """Delete the clone of an ended loop, and its mark unless that must keep an earlier runner from publishing."""
        place = self.folder / "work" / loop.loop_id
        if self._mark and not (self._keeps_out and self._commit == loop.start.head):
            with suppress(GitFailed, OSError):
                self._take_back_settings(place)
                ownership.push(str(place), self._address.remote, [Move(self._address.mark_ref, self._mark, None)])
        shutil.rmtree(place, ignore_errors=True)
        self._settings_of(place).unlink(missing_ok=True)

    def _take(self, mirror: Mirror, loop: Loop) -> None:
        repository, address = str(mirror.path), self._address
        self._keeps_out = not _is_first(loop)
        for _ in range(LEASE_ATTEMPTS):
            refs = ownership.remote_refs(repository, address)
            self._note(refs)
            needed = {self._commit: self._base_ref, **({refs.mark: address.mark_ref} if refs.mark else {})}
            if not mirror.fetch(needed):
                continue
            self._check_newest(repository, refs.mark)
            start = loop.start.head or self._commit
            self._start = start if mirror.has(start) or mirror.fetch_commit(start) else None
            if self._start and not self._has_branch:
                # Nothing was published: the default branch may have moved since the loop started.
                self._commit = self._start
            if refs.mark is None and not self._keeps_out and address.remote in _writable:
                return
            mark = ownership.new_mark(repository, address, self._token, self._commit, self._start)
            try:
                ownership.push(repository, address.remote, [Move(address.mark_ref, refs.mark, mark)])
            except GitFailed as refusal:
                if ownership.remote_refs(repository, address).mark == refs.mark:
                    raise _refused(address, refusal) from refusal
                continue
            _writable.add(address.remote)
            self._mark = mark
            return
        raise Superseded(
            f"Loop {address.loop_id} is leased again and again by other runners.", "look at the other machines"
        )

    def _note(self, refs: ownership.RemoteRefs) -> None:
        """Remember the commit of the branch, or the one that it starts from."""
        base = refs.branch or refs.head
        if base is None:
            raise UsageError(
                f"The remote {self._address.remote} has no commit to start from.",
                "push a commit first: the work starts from it",
            )
        self._mark, self._commit, self._has_branch = None, base, refs.branch is not None

    @property
    def _base_ref(self) -> str:
        return self._address.branch_ref if self._has_branch else HEAD

    def _check_newest(self, repository: str, mark: str | None) -> None:
        if mark is not None and ownership.token_of(repository, mark) > self._token:
            raise self._superseded()

    def _superseded(self) -> Superseded:
        return Superseded(
            f"Loop {self._address.loop_id} was leased by a newer runner.",
            "the work of this runner is not published",
        )

    def _publish(self, title: str, within: float, wants_out: Callable[[], bool], known: Redactor) -> str | None:
        """Commit the changes, if any, and move the branch to the commit. Returns the commit if it contains every change."""
        place = str(self.folder / "work" / self._address.loop_id)
        if root_of(place) != os.path.realpath(place):
            raise UsageError(
                f"The git repository of {place} is gone.", "the agent deleted it; resume starts from the published work"
            )
        try:
            self._take_back_settings(Path(place))
        except (GitFailed, OSError) as problem:
            hint = "the agent changed it; resume starts from the published work"
            raise UsageError(f"The git repository of {place} cannot be used: {problem}.", hint) from problem
        kept = commits.keep(place, title)
        commit = kept.head
        if commit is None:
            raise UsageError(f"The branch that {place} is on has no commit.", "resume starts from the published work")
        if commit != self._commit:
            self._refuse_secrets(place, commit, known)
            mark = ownership.new_mark(place, self._address, self._token, commit, self._start)
            self._tried(lambda: self._move(place, commit, mark), within, wants_out)
        return kept.all_in

    def _refuse_secrets(self, place: str, commit: str, known: Redactor) -> None:
        leak = leaks.in_commits(place, self._commit, commit, known)
        if leak is not None:
            git(place, "branch", "--force", UNPUBLISHED, commit)
            raise UsageError(
                f"The work is not published: {leak.sentence}.",
                f"resume starts from the published work; this round's work is the branch {UNPUBLISHED} in {place}",
            )

    def _move(self, place: str, commit: str, mark: str) -> None:
        address, before = self._address, self._commit if self._has_branch else None
        moves = [Move(address.mark_ref, self._mark, mark), Move(address.branch_ref, before, commit)]
        try:
            ownership.push(place, address.remote, moves)
        except GitFailed as refusal:
            self._explain(place, moves, refusal)
        self._mark, self._commit, self._has_branch = mark, commit, True

    def _explain(self, place: str, moves: list[Move], refusal: GitFailed) -> None:
        """Raise the reason of a failed push. Does nothing if the push succeeded and only its answer was lost."""
        mark, branch = moves
        refs = ownership.remote_refs(place, self._address)
        if refs.mark == mark.after:
            return
        if refs.mark != mark.before:
            raise self._superseded()
        if refs.branch == branch.before:
            raise _refused(self._address, refusal)
        git(place, "branch", "--force", UNPUBLISHED, branch.after or "HEAD")
        raise UsageError(
            f"The branch {self._address.branch} of {self._address.remote} was moved by another program or person.",
            f"resume starts from its new commit; this round's work is the branch {UNPUBLISHED} in {place}",
        )

    def _tried(self, work: Callable[[], None], within: float, wants_out: Callable[[], bool]) -> None:
        """Try again while the remote cannot be reached, and a few times if it refuses."""
        deadline, pause, refusals = time.monotonic() + within, FIRST_PAUSE, 0
        while True:
            try:
                return work()
            except _Refused:
                refusals += 1
                if refusals >= REFUSALS or wants_out():
                    raise
            except GitFailed as problem:
                if time.monotonic() + pause > deadline or wants_out():
                    raise UsageError(
                        f"The git remote {self._address.remote} cannot be reached: {problem}.",
                        "fix the connection, then resume",
                    ) from problem
            time.sleep(pause)
            pause = min(LONGEST_PAUSE, pause * 2)


def _is_first(loop: Loop) -> bool:
    """Whether no earlier attempt got as far as `WorkspaceSeen`. Such an attempt cannot publish: the journal accepts that entry from
    the holder of the last lease only."""
    return not loop.start.fingerprint


class _Refused(UsageError):
    """The remote was reached, and refused the push."""


def _refused(address: Address, refusal: GitFailed) -> _Refused:
    return _Refused(
        f"The git remote {address.remote} refuses the push: {refusal}.",
        f"it must allow pushes to {address.branch_ref} and {address.mark_ref}",
    )


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
