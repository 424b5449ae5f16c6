"""What happens to the rounds of a loop afterwards: undo, rewind, bisection."""
