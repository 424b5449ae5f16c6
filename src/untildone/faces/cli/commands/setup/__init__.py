"""Commands that set up a machine or a project, and inspect it."""
