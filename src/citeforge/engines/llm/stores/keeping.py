"""How a run keeps what it pays for, whatever happens to the store."""

from __future__ import annotations

import asyncio
from typing import Self

from citeforge.engines.llm.records import Call, LlmReply, Result
from citeforge.engines.llm.stores.replay import ReplayStore, exported_row
from citeforge.engines.llm.stores.spill import Spill
from citeforge.schemas.errors import CiteforgeError, InputError


class Keeping:
    """The store of one run, and a file for the answers that it does not take.

    Attributes:
        broken: why the store took no more; None while it does.
    """

    def __init__(self, store: ReplayStore, model: str, room: int) -> None:
        """Take the room for answers in flight.

        Raises:
            InputError: the disk is full already, or the folder cannot be written.
        """
        self.broken: CiteforgeError | None = None
        self._store, self._model = store, model
        self._spill = Spill(store.path, room)
        self._n_lost = 0
        self._turn = asyncio.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._spill.close()

    async def keep(self, key: str, call: Call, result: Result) -> None:
        """Store a result; when that fails, keep it beside the store, and say so in ``broken``."""
        payload = call.payload(self._model)

        def put() -> None:
            if self.broken is not None:  # what queued behind the failure need not wait as long
                raise self.broken
            if isinstance(result, LlmReply):
                self._store.put(key, payload, call.sample, result)
            else:
                self._store.fail(key, payload, call.sample, result)

        try:
            async with self._turn:
                # Another program's lock may make us wait; replies go on arriving meanwhile.
                await asyncio.to_thread(put)
        except CiteforgeError as error:
            self.broken = self.broken or error
            if not isinstance(result, LlmReply):
                return  # it would be asked again anyhow
            try:
                self._spill.write(exported_row(key, payload, call.sample, result))
            except InputError:
                self._n_lost += 1

    def error(self) -> CiteforgeError:
        """Why the run ended, and where the answers are."""
        assert self.broken is not None
        note = f"{self._spill.rows:,} answers that were paid for meanwhile are kept"
        where = f"{note} in {self._spill.path}, which the next run with this store takes in"
        if self._n_lost:
            where += f"; {self._n_lost:,} could be kept nowhere"
        return InputError(f"{self.broken}; {where}")
