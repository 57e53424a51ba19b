"""The benchmark that bundles are built of, built once."""

from pathlib import Path

import pytest

from conftest_bundles import sixty


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sixty(tmp_path_factory.mktemp("sixty"))
