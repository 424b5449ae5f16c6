"""`python -m untildone` is the program `untildone`; background runners and hooks start it this way."""

from untildone.faces.cli import main

if __name__ == "__main__":
    main()
