"""What can be done with loops that have rounds behind them: go on, go back, bisect, delete."""
