"""instruct: an instructor turns the person's task into one instruction after another for the worker."""
