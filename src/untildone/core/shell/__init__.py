"""Shell commands that people write as checks, read without running them: their simple commands, and the programs behind wrappers."""
