"""The operating system: processes, pipes, the guard, orphans, locks, files that survive a crash, edits of other programs' settings."""
