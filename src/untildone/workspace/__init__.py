"""The workspace: what changed in it, diffs, commits, worktrees; everything that asks git."""
