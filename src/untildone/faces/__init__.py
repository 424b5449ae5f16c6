"""The interfaces for people and programs: command line, API, dashboard, Python functions."""
