"""The routes of the API, a file for each subject."""
