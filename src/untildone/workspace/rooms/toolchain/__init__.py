"""Outside of a workspace: libraries, caches, settings of tools and scripts, which decide what a check means."""
