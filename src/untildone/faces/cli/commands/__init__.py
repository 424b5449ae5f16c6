"""The commands, a file each, or a small group of them. `faces.cli.table` lists them all."""
