"""What check commands run: the scripts, recipes, targets and files that they name, read without running anything."""
