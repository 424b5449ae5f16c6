"""untildone keeps a coding agent at work until the job is verified done."""
