"""`python -m untildone.faces.cli` is the program `untildone`."""

from untildone.faces.cli import main

if __name__ == "__main__":
    main()
