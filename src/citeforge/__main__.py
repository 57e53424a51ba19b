"""``python -m citeforge``, and the command ``citeforge``."""

import os
import signal
import sys
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130


def main() -> None:
    """Run the command line; Ctrl-C ends it with one line, also while modules are imported."""
    interrupts: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        """Record the signal, and raise KeyboardInterrupt as Python would."""
        interrupts.append(number)
        raise KeyboardInterrupt

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")  # else numpy's idle threads spin
    if not sys.stderr.isatty():
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    try:
        from citeforge.cli.main import main as run

        run()
    except BaseException as error:
        # Extension modules turn an interrupt of their imports into errors of other sorts.
        if not interrupts:
            raise
        code = error.code if isinstance(error, SystemExit) else None
        if code not in (0, INTERRUPTED):
            sys.stderr.write("interrupted; run the same command again, a build with --resume\n")
            code = INTERRUPTED
        raise SystemExit(code) from None


if __name__ == "__main__":
    main()
