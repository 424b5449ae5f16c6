"""The commands by what they do, a file each, or a small group of them. `faces.cli.table` lists them all."""
