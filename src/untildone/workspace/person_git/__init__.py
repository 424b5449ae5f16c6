"""The git repository of the person: its commits, branches, worktrees, index and exclude file."""
