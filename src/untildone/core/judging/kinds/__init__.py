"""Which paths are judge files, and of which kind."""
