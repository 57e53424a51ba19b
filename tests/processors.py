"""Run the numeric tests in each kind of arithmetic that this processor has.

``python -m processors`` (`make processors`) starts pytest once per setting of the variables by
which libraries choose their kernels and threads, prints a table, and ends with 1 if a test failed.
``python -m processors 1 6`` runs the first and the sixth setting alone.
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from typing import NamedTuple

from citeforge.engines.posix import cpu_flags

TESTS = Path(__file__).parent
_AVX2 = {"avx2", "fma"}
_AVX512 = _AVX2 | {"avx512f", "avx512bw", "avx512dq", "avx512vl"}
_VNNI = _AVX512 | {"avx512_vnni"}
NEEDED: dict[str, dict[str, set[str]]] = {
    # Kernels of torch.
    "ATEN_CPU_CAPABILITY": {"default": set(), "avx2": _AVX2, "avx512": _AVX512},
    # Kernels of oneDNN, which torch and OpenVINO contain.
    "ONEDNN_MAX_CPU_ISA": {
        "AVX2": _AVX2,
        "AVX512_CORE": _AVX512,
        "AVX512_CORE_VNNI": _VNNI,
        "AVX512_CORE_BF16": _VNNI | {"avx512_bf16"},
        "DEFAULT": set(),
    },
    # Products of matrices in float32: OpenBLAS in NumPy, SciPy and FAISS, MKL in torch.
    "OPENBLAS_CORETYPE": {"Nehalem": {"sse4_2"}, "Haswell": _AVX2},
    "MKL_CBWR": {"COMPATIBLE": {"sse4_2"}},
    "OMP_NUM_THREADS": {"1": set(), "2": set(), "3": set()},
}
"""Flags of the processor that each value of each variable needs."""

Setting = Mapping[str, str]
SETTINGS: list[Setting] = [
    dict(word.split("=") for word in line.split())
    for line in """\
ONEDNN_MAX_CPU_ISA=DEFAULT OMP_NUM_THREADS=2
ATEN_CPU_CAPABILITY=avx512 ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16 OMP_NUM_THREADS=3
ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX512_CORE_VNNI OMP_NUM_THREADS=1
ATEN_CPU_CAPABILITY=default ONEDNN_MAX_CPU_ISA=AVX512_CORE OMP_NUM_THREADS=2
ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2 OPENBLAS_CORETYPE=Haswell OMP_NUM_THREADS=3
ATEN_CPU_CAPABILITY=default ONEDNN_MAX_CPU_ISA=AVX2 OPENBLAS_CORETYPE=Nehalem MKL_CBWR=COMPATIBLE \
OMP_NUM_THREADS=1""".splitlines()
]
"""Every value at least once; the last two are an older processor in full."""
AT_ONCE = 2


def environment(setting: Setting) -> dict[str, str]:
    """Variables of a run: the setting, and no other limit."""
    limits = {*NEEDED, "DNNL_MAX_CPU_ISA", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"}
    free = {name: value for name, value in os.environ.items() if name not in limits}
    # Otherwise torch takes no more threads than there are cores.
    return {**free, "MKL_DYNAMIC": "FALSE", "CITEFORGE_HYPOTHESIS": "quick", **setting}


def list_missing_flags(setting: Setting, flags: set[str]) -> list[str]:
    """List the flags that a setting needs and a processor lacks."""
    return sorted(set().union(*(NEEDED[n][v] for n, v in setting.items())) - flags)


class Run(NamedTuple):
    """What the numeric tests did in one setting, and the hashes of the benchmarks they built."""

    is_green: bool
    output: str
    hashes: str
    seconds: float


def run_tests(setting: Setting, files: Sequence[Path], cache: str) -> Run:
    """Run the numeric tests of some files, one of which may leave hashes (test_one_recipe.py).

    Args:
        setting: values of variables.
        files: test files.
        cache: folder for vectors of all settings.
    """
    start = time.monotonic()
    options = ("-q", "-p", "no:cacheprovider", "-m", "numeric")
    with NamedTemporaryFile("r") as hashes:
        tests = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *map(str, files)], cwd=TESTS.parent,
            env=environment(setting)
            | {"CITEFORGE_HASHES": hashes.name, "CITEFORGE_SHARED_CACHE": cache},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        seconds = time.monotonic() - start
        return Run(tests.returncode == 0, tests.stdout, hashes.read(), seconds)


def run_settings(settings: Iterable[Setting], files: Sequence[Path], flags: set[str]) -> bool:
    """Run the tests in each setting, and print a table and the hashes of what was built.

    Args:
        settings: values of variables.
        files: test files.
        flags: of the processor; settings that need others are skipped.

    Returns:
        Whether no test failed, tests ran in every setting, and all built the same.
    """
    names = {" ".join(f"{n}={v}" for n, v in setting.items()): setting for setting in settings}
    width = max(map(len, names))
    lacking = {name: list_missing_flags(setting, flags) for name, setting in names.items()}
    able = {name: setting for name, setting in names.items() if not lacking[name]}
    print(f"{'setting':{width}}  passed  failed  seconds", flush=True)
    red: list[str] = []
    built: dict[str, list[str]] = {}
    with TemporaryDirectory() as cache, ThreadPoolExecutor(AT_ONCE) as pool:
        runs = {n: pool.submit(run_tests, setting, files, cache) for n, setting in able.items()}
        for name, run in runs.items():
            done = run.result()
            last = done.output.rstrip().rpartition("\n")[2]
            counts = {what: n for n, what in re.findall(r"(\d+) (passed|failed|error)", last)}
            failed = int(counts.get("failed", 0)) + int(counts.get("error", 0))
            passed, seconds = counts.get("passed", "0"), round(done.seconds)
            print(f"{name:{width}}  {passed:>6}  {failed:>6}  {seconds:>7}", flush=True)
            built.setdefault(done.hashes, []).append(name)
            if not done.is_green:
                red.append(f"\n{name}\n{done.output}")
    for name, missing in lacking.items():
        if missing:
            print(f"{name:{width}}  skipped: this processor has no {', '.join(missing)}")
    for hashes, where in built.items():
        print(f"hashes {hashes}" if len(built) == 1 else f"hashes {hashes}: {'; '.join(where)}")
    print("".join(red), end="")
    return not red and len(built) == 1


if __name__ == "__main__":
    marked = [p for p in sorted(TESTS.rglob("test_*.py")) if "mark.numeric" in p.read_text()]
    chosen = [SETTINGS[int(number) - 1] for number in sys.argv[1:]] or SETTINGS
    sys.exit(not run_settings(chosen, marked, cpu_flags()))
