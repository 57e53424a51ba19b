"""What kills and limits builds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from servers.nursery import Nursery


@pytest.fixture(scope="session")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    """Forks builds."""
    found = Nursery(tmp_path_factory.mktemp("nursery"))
    yield found
    found.close()
