"""``python -m kgreason``."""

import atexit
import os
import sys

if (
    not sys.flags.safe_path
    and sys.path[:1] == [os.getcwd()]
    and not __file__.startswith(sys.path[0] + os.sep)
):
    del sys.path[0]  # python -m puts it there: a folder that one works in may hold a numpy.py of a stranger

from kgreason.base.interrupts import INTERRUPTED, leave_at_once
from kgreason.base.resources import collect_rarely


def main() -> None:
    """Run the command line; who interrupts already while it is imported gets the same message as later."""
    leave_at_once()
    collect_rarely()
    from kgreason.cli import main

    try:
        main()
    except SystemExit as end:
        if end.code == INTERRUPTED:
            # where an interrupt has met `exec`, Python would give up this code at its end and die of a signal
            sys.stdout.flush()
            atexit._run_exitfuncs()  # remove temporary files
            os._exit(INTERRUPTED)
        raise


if __name__ == "__main__":
    main()
