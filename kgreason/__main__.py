"""``python -m kgreason``."""

from kgreason.cli import main

if __name__ == "__main__":
    main()
