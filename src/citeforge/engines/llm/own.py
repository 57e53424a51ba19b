"""Programs and servers of one's own, asked like an LLM: a prompt in, an answer out.

Nobody writes a loop: each prompt is one start of the program, or one POST to the server. Answers
are kept as those of served models are, so that another run asks what has no answer yet.
"""

import os
import shlex
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import cached_property
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request as HttpRequest

import msgspec

from citeforge.engines.files import canonical_json, digest, sha256_file
from citeforge.engines.http import first_line, public_url, send_request
from citeforge.engines.keys import mask_keys
from citeforge.engines.llm.records import Failure, FailureReason, LlmReply, Request, Result
from citeforge.engines.llm.replay import ReplayStore, SentRequest, Take, ask_once
from citeforge.engines.progress import progress
from citeforge.schemas.errors import UsageError
from citeforge.schemas.recipes.base import RunOptions
from citeforge.schemas.text import printable


class Answered(msgspec.Struct):
    """A reply in JSON; all but the answer is ignored.

    Attributes:
        output: the answer, as in a line of a submission.
    """

    output: str


class OwnSystem(ABC):
    """A program or a server of one's own, asked about several prompts at once.

    Attributes:
        name: what the user named, as manifests and submissions record it.
        store: its answers; None to keep none.
        options: how many are asked at once, and how long each may take.
    """

    def __init__(self, name: str, store: ReplayStore | None, options: RunOptions) -> None:
        """Take the name, the store of answers and the options of the run."""
        self.name, self.store, self.options = name, store, options

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """Describe the system for headers and manifests; what changes answers is in it."""

    @property
    @abstractmethod
    def at_once(self) -> int:
        """Most prompts that it is asked about at the same time."""

    @abstractmethod
    def answer(self, prompt: str, params: Mapping[str, Any]) -> Result:
        """Get the answer to one prompt, or the reason why there is none.

        Args:
            prompt: text of all messages.
            params: how to decode, as ``max_tokens`` and ``temperature``; heeded or not.
        """

    def complete(self, requests: Sequence[Request]) -> list[Result]:
        """Answer requests, in order; equal requests are answered once.

        Raises:
            UsageError: the program cannot be started.
        """
        model = f"{self.identity()['name']}@{digest(self.identity())[:12]}"

        def ask(waiting: dict[str, Request], take: Take) -> None:
            """Ask about prompts without a stored answer; keep each answer when it comes."""
            with (
                progress("LLM", len(waiting), "answers") as advance,
                ThreadPoolExecutor(self.at_once) as pool,
            ):
                asked = {pool.submit(self._ask, r): (key, r) for key, r in waiting.items()}
                try:
                    for future in as_completed(asked):
                        key, request = asked[future]
                        result = future.result()
                        if not isinstance(result, Failure):
                            result = request.check_reply(result)
                            if self.store is not None:
                                sent = SentRequest(key, request.payload(model), request.sample)
                                self.store.keep(sent, result)
                        take(key, result)
                        advance(1)
                finally:
                    pool.shutdown(wait=False, cancel_futures=True)

        return ask_once(requests, model, self.store, ask)

    def _ask(self, request: Request) -> Result:
        """Ask about one request, whose messages become one text."""
        params = {**request.params, "sample": request.sample}
        return self.answer("\n\n".join(text for _, text in request.messages), params)


def read_answer(text: str) -> LlmReply:
    """Read an answer: the field ``output`` of a JSON object that has one, else the whole text."""
    try:
        return LlmReply(msgspec.json.decode(text, type=Answered).output)
    except (msgspec.DecodeError, UnicodeError):
        return LlmReply(text.strip())


class Program(OwnSystem):
    """``exec:COMMAND``: the prompt on standard input, the answer on standard output.

    The command is started once a prompt, without a shell; how to decode stands in the environment
    variable ``CITEFORGE_PARAMS``, as JSON. Files that it names are part of its identity: a program
    that was changed is asked again.
    """

    @cached_property
    def _words(self) -> list[str]:
        """Words of the command.

        Raises:
            UsageError: it has none, or a quotation mark that never closes.
        """
        try:
            words = shlex.split(self.name.partition(":")[2], posix=os.name == "posix")
        except ValueError as error:
            raise UsageError(f"{self.name}: {error}", code="bad-option") from error
        if not words:
            raise UsageError("exec: write a command behind the colon", code="bad-option")
        return words

    def identity(self) -> dict[str, Any]:
        """Describe the command, with the sha256 of each file that it names."""
        files = [Path(word) for word in self._words if Path(word).is_file()]
        digests = {path.name: sha256_file(path) for path in files}
        return {"name": mask_keys(self.name), "files_sha256": digests}

    @property
    def at_once(self) -> int:
        """As many as ``--concurrency`` says, and no more than there are processors."""
        return min(self.options.concurrency, os.cpu_count() or 1)

    def answer(self, prompt: str, params: Mapping[str, Any]) -> Result:
        """Start the program with a prompt, and read what it prints.

        Raises:
            UsageError: there is no such program.
        """
        environment = {**os.environ, "CITEFORGE_PARAMS": canonical_json(dict(params))}
        try:
            ran = subprocess.run(
                self._words, input=prompt.encode(), capture_output=True, check=False,
                timeout=self.options.timeout, env=environment,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return Failure("program", f"no answer within {self.options.timeout:g} s (--timeout)")
        except OSError as error:
            text = f"{self.name}: {self._words[0]}: {error.strerror or error}"
            raise UsageError(text, code="bad-option") from error
        if ran.returncode != 0:
            last = ran.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
            said = f": {printable(mask_keys(last[0]))[:200]}" if last else ""
            return Failure("program", f"ended with exit code {ran.returncode}{said}")
        return read_answer(ran.stdout.decode("utf-8", "replace"))


class Server(OwnSystem):
    """``http://HOST/PATH``: a POST of the prompt, the answer in the reply's body.

    A prompt that is a JSON object (as ``--template`` may write it) is the body; any other is sent
    as ``{"prompt": "…", "max_tokens": …, …}``.
    """

    def identity(self) -> dict[str, Any]:
        """Describe the address, without user, password and query."""
        return {"name": public_url(self.name)}

    @property
    def at_once(self) -> int:
        """As many as ``--concurrency`` says."""
        return self.options.concurrency

    def answer(self, prompt: str, params: Mapping[str, Any]) -> Result:
        """Post a prompt, and read the reply."""
        body = _make_body(prompt, params)
        request = HttpRequest(self.name, body, {"Content-Type": "application/json"})
        try:
            with send_request(request, self.options.timeout) as reply:
                return read_answer(reply.read().decode("utf-8", "replace"))
        except HTTPError as error:
            reason: FailureReason = "exhausted" if error.code >= 500 else "refused"
            return Failure(reason, f"status {error.code}{first_line(error.read())}", error.code)
        except (OSError, HTTPException) as error:
            return Failure("exhausted", printable(mask_keys(str(error) or type(error).__name__)))


def _make_body(prompt: str, params: Mapping[str, Any]) -> bytes:
    """Make the body of a POST: the prompt itself where it is a JSON object."""
    try:
        msgspec.json.decode(prompt, type=dict)
    except (msgspec.DecodeError, UnicodeError):
        return msgspec.json.encode({"prompt": prompt, **params})
    return prompt.encode()
