"""Programs and servers of one's own, asked like an LLM: a prompt in, an answer out.

Nobody writes a loop: each prompt is one start of the program, or one POST to the server. Answers
are kept as those of served models are, so that another run asks what has no answer yet.
"""

import os
import shlex
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import cached_property
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request as HttpRequest

import msgspec

from citeforge.engines.files import canonical_json, digest, sha256_file
from citeforge.engines.http import (
    NoConnectionError,
    ServerPatience,
    first_line,
    retry_after,
    send_request,
)
from citeforge.engines.jsonlines import largest_line
from citeforge.engines.keys import mask_address, mask_keys
from citeforge.engines.llm.records import Failure, LlmReply, Request, Result
from citeforge.engines.llm.replay import ReplayStore, SentRequest, Take, ask_once
from citeforge.engines.posix import IS_POSIX, run_group, usable_processors
from citeforge.engines.progress import progress
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.recipes.base import RunOptions
from citeforge.schemas.text import printable

HTTP_KEY = "CITEFORGE_HTTP_KEY"
"""Environment variable whose value goes to servers as a bearer token."""
_BUSY = (429, 503)
"""Statuses of a server that will answer later."""
_LONGEST_PAUSE = 30.0
"""Seconds between two tries where the server names none."""


class Answered(msgspec.Struct):
    """A reply in JSON; all but the answer is ignored.

    Attributes:
        output: the answer, as in a line of a submission.
    """

    output: str


def public_name(name: str) -> str:
    """Mask keys, users and passwords in the name of the user's own program or server."""
    return mask_address(name)


class OwnSystem(ABC):
    """A program or a server of one's own, asked about several prompts at once.

    Attributes:
        name: what the user named, keys included; never shown.
        store: its answers; None to keep none.
        options: how many are asked at once, and how long each may take.
    """

    def __init__(self, name: str, store: ReplayStore | None, options: RunOptions) -> None:
        """Set the name (command or address), the store of answers and the options of the run.

        Raises:
            UsageError: it is no command or no address.
        """
        self.name, self.store, self.options = name, store, options
        self.check()

    @abstractmethod
    def check(self) -> None:
        """Raise a UsageError if the system's name is not a valid command or address."""

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """Describe all that the program's or server's answers depend on, for manifests."""

    @property
    @abstractmethod
    def n_parallel(self) -> int:
        """Largest number of prompts that the program or server is asked at the same time."""

    @abstractmethod
    def reply_to(self, prompt: str, params: Mapping[str, Any]) -> bytes | Failure:
        """Get the reply to one prompt, or the reason why there is none.

        Args:
            prompt: text of all messages.
            params: how to decode, as ``max_tokens`` and ``temperature``; heeded or not.
        """

    def complete(self, requests: Sequence[Request]) -> list[Result]:
        """Answer requests, in order; equal requests are answered once.

        Raises:
            UsageError: the program cannot be started.
            InputError: the server cannot be reached.
        """
        model = f"{self.identity()['name']}@{digest(self.identity())[:12]}"

        def ask(waiting: dict[str, Request], take: Take) -> None:
            """Ask about prompts without a stored answer; keep each answer when it comes."""
            with (
                progress("answering", len(waiting), "answers") as advance,
                ThreadPoolExecutor(self.n_parallel) as pool,
            ):
                asked = {pool.submit(self._ask, r): (key, r) for key, r in waiting.items()}
                try:
                    for future in as_completed(asked):
                        key, request = asked[future]
                        result = future.result()
                        if isinstance(result, Failure) and result.reason == "unreachable":
                            raise self._unreachable_error(result)
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

    def _unreachable_error(self, failure: Failure) -> InputError:
        """Make the error that ends a run whose server was never reached."""
        return InputError(
            f"the first call failed: {failure.message}",
            path=public_name(self.name),
            allowed="check the address, and that the server runs and can be reached",
            code="endpoint-failed",
        )

    def _ask(self, request: Request) -> Result:
        """Ask about one request; the texts of several messages are joined by blank lines."""
        params = {**request.params, "sample": request.sample}
        reply = self.reply_to("\n\n".join(text for _, text in request.messages), params)
        # What a build or a judge asks may be answered in JSON, and is taken as it is.
        return reply if isinstance(reply, Failure) else read_reply(reply, not request.needs_text)


def read_reply(body: bytes, may_be_json: bool) -> Result:
    """Decode a reply as text; if it may be a JSON object and is one, take its field ``output``."""
    if len(body) > largest_line():
        return Failure("unparsable", f"the reply has {len(body):,} bytes (--largest-line)")
    try:
        text = body.decode().strip()
    except UnicodeDecodeError:
        return Failure("unparsable", "the reply is not UTF-8")
    if not may_be_json:
        return LlmReply(text)
    try:
        msgspec.json.decode(text, type=dict)
    except (msgspec.DecodeError, UnicodeError):
        return LlmReply(text)
    try:
        return LlmReply(msgspec.json.decode(text, type=Answered).output)
    except (msgspec.DecodeError, UnicodeError):
        return Failure("unparsable", "the reply is a JSON object without a text in output")


class Program(OwnSystem):
    """``exec:COMMAND``: the prompt on standard input, the answer on standard output.

    The command is started once a prompt, without a shell; how to decode stands in the environment
    variable ``CITEFORGE_PARAMS``, as JSON. Files that it names are part of its identity: a program
    that was changed is asked again.
    """

    @cached_property
    def _words(self) -> list[str]:
        """Program and arguments of the command, split as a shell splits them.

        Raises:
            UsageError: it has none, or a quotation mark that never closes.
        """
        try:
            words = shlex.split(self.name.partition(":")[2], posix=IS_POSIX)
        except ValueError as error:
            raise UsageError(f"{public_name(self.name)}: {error}", code="bad-option") from error
        if not words:
            raise UsageError("exec: write a command behind the colon", code="bad-option")
        # Where a backslash is part of a path, marks round a word are left in it.
        return words if IS_POSIX else [word.strip('"') for word in words]

    def check(self) -> None:
        """Raise a UsageError if the program's name contains no valid command."""
        _ = self._words

    def identity(self) -> dict[str, Any]:
        """Describe the command, with the sha256 of each file that it names."""
        digests = {
            mask_keys(word): sha256_file(Path(word)) for word in self._words if _is_file(word)
        }
        return {"name": public_name(self.name), "files_sha256": digests}

    @property
    def n_parallel(self) -> int:
        """Number of programs that run at once: ``--concurrency``, but at most one per processor."""
        return min(self.options.concurrency, usable_processors())

    def reply_to(self, prompt: str, params: Mapping[str, Any]) -> bytes | Failure:
        """Start the program with a prompt, and read what it prints.

        Raises:
            UsageError: there is no such program.
        """
        own = {"CITEFORGE_PARAMS": canonical_json(dict(params)), "PYTHONIOENCODING": "utf-8"}
        limit = self.options.timeout
        try:
            done = run_group(self._words, prompt.encode(), {**os.environ, **own}, limit)
        except subprocess.TimeoutExpired:
            return Failure("program", f"no answer within {limit:g} s (--timeout)")
        except OSError as error:
            text = f"{public_name(self.name)}: {self._words[0]}: {error.strerror or error}"
            raise UsageError(text + self._start_advice(), code="bad-option") from error
        if done.returncode != 0:
            last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
            said = f": {printable(mask_keys(last[0]))[:200]}" if last else ""
            return Failure("program", f"ended with exit code {done.returncode}{said}")
        return done.stdout

    def _start_advice(self) -> str:
        """Advise how to start a file that is not executable; empty if the command names none."""
        file = self._words[0]
        if not _is_file(file):
            return ""
        path = file if Path(file).name != file else f"./{file}"
        return (
            f'; a program that reads the file comes first, as in exec:"python3 {file}"; '
            f"a file that may be executed is named by its path, as in exec:{path}"
        )


def _is_file(word: str) -> bool:
    """Whether a word of a command is the path of a file."""
    try:
        return Path(word).is_file()
    except (OSError, ValueError):  # too long for a name, or with a character that none has
        return False


class Server(OwnSystem):
    """``http://HOST/PATH``: a POST of the prompt, the answer in the reply's body.

    A prompt that is a JSON object (as ``--template`` may write it) is the body; any other is sent
    as ``{"prompt": "…", "max_tokens": …, …}``. A server that is busy or does not answer is asked
    again, ``--max-retries`` times at most; one that was never reached, only twice.
    """

    def __init__(self, name: str, store: ReplayStore | None, options: RunOptions) -> None:
        """Set the address, the store of answers and the options; nothing is sent."""
        super().__init__(name, store, options)
        self._patience = ServerPatience()

    def check(self) -> None:
        """Raise a UsageError if the server's name is not a valid address."""
        try:
            parts = urlsplit(self.name)
            is_address = bool(parts.hostname) and (parts.port or 1) > 0
        except ValueError:  # a port that is none, or brackets that do not close
            is_address = False
        if not is_address:
            raise UsageError(
                f"{public_name(self.name)}: expected http://HOST[:PORT]/PATH", code="bad-option"
            )

    def identity(self) -> dict[str, Any]:
        """Describe the server by its address, keys masked, and the sha256 of the whole address."""
        return {"name": public_name(self.name), "address_sha256": digest(self.name)}

    @property
    def n_parallel(self) -> int:
        """Prompts that the server is asked at the same time: ``--concurrency``."""
        return self.options.concurrency

    def reply_to(self, prompt: str, params: Mapping[str, Any]) -> bytes | Failure:
        """Post a prompt to the server, again while it is busy or silent; return the reply."""
        headers = {"Content-Type": "application/json"}
        if key := os.environ.get(HTTP_KEY):
            headers["Authorization"] = f"Bearer {key}"
        request = HttpRequest(self.name, _make_body(prompt, params), headers)
        for n_tries in range(1, self.options.max_retries + 2):
            result, pause = self._post(request, n_tries)
            if pause is None or n_tries > self.options.max_retries:
                break
            time.sleep(pause)
        return result

    def _post(self, request: HttpRequest, n_tries: int) -> tuple[bytes | Failure, float | None]:
        """Post once; return (reply or failure, seconds until another try or None for none).

        Args:
            request: the request.
            n_tries: number of this try, from 1.
        """
        usual_pause = min(2.0 ** (n_tries - 1), _LONGEST_PAUSE)
        try:
            with send_request(request, self.options.timeout) as reply:
                self._patience.record_answer()
                return reply.read(), None
        except HTTPError as error:
            self._patience.record_reply()
            said = f"status {error.code}{first_line(error.read())}"
            if error.code in _BUSY:
                named = retry_after(error.headers)
                return Failure(
                    "exhausted", said, error.code
                ), usual_pause if named is None else named
            return Failure("refused", said, error.code), None
        except NoConnectionError as error:
            if self._patience.is_unreachable(n_tries, 1 + self.options.max_retries):
                return Failure("unreachable", f"no connection: {error}"), None
            return Failure("exhausted", str(error)), usual_pause
        except (OSError, HTTPException) as error:
            text = printable(mask_keys(str(error) or type(error).__name__))
            return Failure("exhausted", text), usual_pause


def _make_body(prompt: str, params: Mapping[str, Any]) -> bytes:
    """Make the body of a POST: the prompt if it is a JSON object, else JSON with parameters."""
    try:
        msgspec.json.decode(prompt, type=dict)
    except (msgspec.DecodeError, UnicodeError):
        return msgspec.json.encode({"prompt": prompt, **params})
    return prompt.encode()
