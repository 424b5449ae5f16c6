"""The operating system: processes, pipes, the guard, orphans, locks, crash-safe files, and edits of other programs' settings files."""
