"""``python -m citeforge``, and the command ``citeforge``."""

import gc
import os
import sys

from citeforge.cli.interrupts import catch_signals, end_interrupted, was_interrupted


def main() -> None:
    """Run the command line; a signal ends it with one line, also while modules are imported."""
    catch_signals()
    gc.set_threshold(10_000, 20, 50)  # imports make no garbage to look for
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")  # else numpy's idle threads spin
    if not sys.stderr.isatty():
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    try:
        from citeforge.cli.main import main as run

        run()
    except BaseException as error:
        if not was_interrupted(error):
            raise
    else:
        return
    end_interrupted()


if __name__ == "__main__":
    main()
