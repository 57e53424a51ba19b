"""A process that has imported everything and forks one command at a time.

Started with the shim preloaded. Reads JSON lines ``{"args", "cwd", "at", "ending", "torn",
"largest"}``; answers ``{"code", "count", "output"}``: exit code (negative: the signal), file
operations counted, and what the command printed. ``at`` 0 counts and ends nothing; ``ending`` is a
signal, or 0 for a full disk; ``largest`` is the most bytes that a file may have, 0 for no limit.
"""

import ctypes
import gc
import hashlib
import json
import os
import resource
import signal
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

from citeforge.engines.models.cached import cached_embedder
from citeforge.engines.models.embedder import Embedder
from citeforge.engines.models.vector_cache import GIGABYTE, VectorCache
from stand_ins import RuleEmbedder


def hash_words(text: str) -> list[int]:
    """Words of each hash: torture is about files, and a model would cost most of the time."""
    hashes = [hashlib.sha256(word.encode()).digest()[0] % 32 for word in text.lower().split()]
    return [hashes.count(one) for one in range(32)]


def cached_words(*args: Any, **options: Any) -> Embedder:
    """Words of each hash, with a cache of vectors in the folder whose file operations count."""
    return cached_embedder(RuleEmbedder(hash_words), VectorCache(Path("cached-vectors"), GIGABYTE))


def preload() -> None:
    import bm25s  # noqa: F401
    import datasets  # noqa: F401
    import openai  # noqa: F401
    import py3langid
    import pyarrow.parquet  # noqa: F401
    import scipy.stats  # noqa: F401
    import spacy  # noqa: F401

    from citeforge.builders.rage import sources as rage_sources
    from citeforge.cli import main  # noqa: F401
    from citeforge.cli.commands import one_line_helps
    from citeforge.cli.main import cli
    from citeforge.engines.retrieval import exact as search  # noqa: F401
    from citeforge.engines.text import segment  # noqa: F401

    py3langid.classify("a text")
    for name in one_line_helps():
        cli.get_command(None, name)  # type: ignore[arg-type]
    rage_sources.run_embedder = cached_words
    for module in (
        "builders.kalma.build builders.authorship.twins builders.authorship.build "
        "builders.rage.build plugins.bundles.build "
        "builders.alce.frozen builders.alce.build plugins.documents.build evaluator.score "
        "publishing.export plugins.leaderboard.build "
        "publishing.card plugins.audit.run engines.llm.writers engines.judge.session "
        "kg.snapshot kg.engines evaluator.compare"
    ).split():
        __import__(f"citeforge.{module}")


def child(task: dict[str, Any], shim: ctypes.CDLL, status: int, output: int) -> None:
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.chdir(task["cwd"])
    from citeforge.__main__ import main

    # A shell starts its background jobs deaf to Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    sys.argv = ["citeforge", *task["args"]]
    if task["largest"]:
        resource.setrlimit(resource.RLIMIT_FSIZE, (task["largest"], task["largest"]))
    shim.torture_arm(str(task["cwd"]).encode(), task["at"], task["ending"], int(task["torn"]))
    code = 0
    try:
        main()
    except SystemExit as stop:
        code = int(stop.code or 0)
    except BaseException:
        traceback.print_exc()
        code = 70
    gc.collect()
    count = shim.torture_count()
    shim.torture_disarm()
    os.write(status, json.dumps({"code": code, "count": count}).encode())
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def one(task: dict[str, Any], shim: ctypes.CDLL) -> dict[str, Any]:
    reading, writing = os.pipe()
    with tempfile.TemporaryFile() as output:
        pid = os.fork()
        if pid == 0:
            child(task, shim, writing, output.fileno())
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            said = pipe.read()
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        output.seek(0)
        text = output.read().decode(errors="replace")
    result = json.loads(said) if said else {"code": code, "count": 0}
    return {**result, "output": text}


def serve() -> None:
    shim = ctypes.CDLL(os.environ["TORTURE_SHIM"])
    shim.torture_arm.argtypes = [ctypes.c_char_p, ctypes.c_long, ctypes.c_int, ctypes.c_int]
    shim.torture_count.restype = ctypes.c_long
    preload()
    # A child that collects garbage would else write to, and so copy, every page of this process.
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        sys.stdout.write(json.dumps(one(json.loads(line), shim)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve()
