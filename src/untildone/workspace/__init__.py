"""The workspace of a loop: snapshots, diffs, commits, worktrees. Every call of git is in this package."""
