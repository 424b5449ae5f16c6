"""Setting up a machine or a project, and finding out what is there."""
