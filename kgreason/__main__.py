"""``python -m kgreason``."""

import atexit
import gc
import os
import sys

if (
    not sys.flags.safe_path
    and sys.path[:1] == [os.getcwd()]
    and not __file__.startswith(sys.path[0] + os.sep)
):
    del sys.path[0]  # python -m puts it there: a folder that one works in may hold a numpy.py of a stranger

from kgreason.base.interrupts import INTERRUPTED, leave_at_once


def main() -> None:
    """Run the command line; who interrupts already while it is imported gets the same message as later."""
    leave_at_once()
    # Imports and plans make many objects that stay: with Python's threshold of 700 a small `kgreason reason` takes
    # 0.05 of 0.85 s longer (processor time, median of 12 runs).
    gc.set_threshold(100_000)
    atexit.register(_spare)
    from kgreason.cli import main

    try:
        main()
    except SystemExit as end:
        if end.code == INTERRUPTED:
            # where an interrupt has met `exec`, Python would give up this code at its end and die of a signal
            sys.stdout.flush()
            os._exit(INTERRUPTED)
        raise


def _spare() -> None:
    """Let the end of Python search for no garbage, which takes 0.03 s; DuckDB would report what is left as a leak."""
    if "duckdb" not in sys.modules:
        gc.freeze()


if __name__ == "__main__":
    main()
