"""What every face shows of loops: a page of the list, one loop with its rounds, the output of a turn."""
