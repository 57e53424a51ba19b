"""A scripted server of the OpenAI protocol.

Written from the protocol's documentation: chat completions, embeddings and models, bearer keys,
error objects, `Retry-After`. `replies` are pairs of a pattern and what is said to a last message
that holds it; else that message comes back; or `speak` makes the message of a reply from the body
of a request, and `embed` the vector of a text. Faults are drawn per request body and try, from a
seed, among `kinds` (all that there are), at the share `faults`; with `first_only` on first tries.
Every request is written to a log before it is answered.
"""

import asyncio
import hashlib
import json
import random
import re
import time
from collections import Counter
from email.utils import formatdate
from pathlib import Path
from typing import Any

FAULTS = ("429s", "429d", "429", "500", "503", "cut", "hang", "garbage", "close", "408")


class Server:
    def __init__(self, log: Path, config: dict[str, Any]) -> None:
        self.turns: Counter[str] = Counter()
        self.log = log.open("a", buffering=1)
        self.config = config
        self.rng_seed = config.get("seed", 0)
        self.tries: dict[str, int] = {}
        self.window: list[float] = []
        self.gate = Path(f"{log}.gate")
        self.arrived = 0

    async def listen(self) -> int:
        """Start to answer; the port."""
        self.listening = await asyncio.start_server(
            self.handle, "127.0.0.1", 0, backlog=1024, limit=2**24
        )
        return int(self.listening.sockets[0].getsockname()[1])

    async def close(self) -> None:
        self.listening.close()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self.one(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        request, *lines = head.split("\r\n")
        headers = {
            k.strip().lower(): v.strip() for k, _, v in (x.partition(":") for x in lines if x)
        }
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        method, path, _ = request.split(" ")
        if path.endswith("/models") and method == "GET":
            return await self.send(writer, 200, {"object": "list", "data": [{"id": "m"}]})
        name = hashlib.sha256(body).hexdigest()
        attempt = self.tries[name] = self.tries.get(name, 0) + 1
        fault = self.fault(name, attempt)
        payload = json.loads(body)
        said = payload.get("messages") or [{"content": ""}]
        entry = {"body": name, "attempt": attempt, "fault": fault, "time": time.monotonic()}
        entry |= {"text": said[-1]["content"], "input": payload.get("input")}
        entry["model"] = payload.get("model")
        self.log.write(json.dumps(entry) + "\n")
        self.arrived += 1
        await self.wait_for_gate(self.arrived)
        key = self.config.get("key")
        if key is not None and headers.get("authorization") != f"Bearer {key}":
            sent = headers.get("authorization", "").removeprefix("Bearer ")
            message = f"Incorrect API key provided: {sent}."
            return await self.error(writer, 401, message, "invalid_api_key")
        if fault is not None:
            return await self.misbehave(writer, fault)
        models = self.config.get("models")
        if models is not None and payload["model"] not in models:
            message = f"The model `{payload['model']}` does not exist"
            return await self.error(writer, 404, message, "model_not_found")
        limit = self.config.get("limit")
        if limit is not None:
            now = time.monotonic()
            self.window = [t for t in self.window if t > now - 1]
            if len(self.window) >= limit:
                return await self.error(writer, 429, "Rate limit reached", "rate_limit_exceeded")
            self.window.append(now)
        await asyncio.sleep(self.config.get("latency", 0.0))
        if path.endswith("/embeddings"):
            return await self.send(writer, 200, self.embed(payload))
        if not path.endswith("/chat/completions") and path.endswith("/completions"):
            return await self.send(writer, 200, self.echo(payload))
        return await self.send(writer, 200, self.complete(payload))

    async def wait_for_gate(self, number: int) -> None:
        """Hold an answer back while the file LOG.gate allows fewer."""
        while True:
            try:
                allowed = int(self.gate.read_text())
            except FileNotFoundError:
                return
            if number <= allowed:
                return
            await asyncio.sleep(0.002)

    def fault(self, name: str, attempt: int) -> str | None:
        share = self.config.get("faults", 0.0)
        if not share:
            return None
        rng = random.Random(f"{self.rng_seed}/{name}/{attempt}")
        if self.config.get("first_only") and attempt > 1:
            return None
        return rng.choice(self.config.get("kinds", FAULTS)) if rng.random() < share else None

    async def misbehave(self, writer: asyncio.StreamWriter, fault: str) -> bool:
        if fault.startswith("429"):
            headers = {"429": {}, "429s": {"Retry-After": "0.02"}}.get(fault)
            if headers is None:
                now = time.time()
                headers = {"Retry-After": formatdate(now, usegmt=True)}
            return await self.error(writer, 429, "Slow down", "rate_limit_exceeded", headers)
        if fault in ("500", "503", "408"):
            return await self.error(writer, int(fault), "Something broke", "server_error")
        if fault == "hang":
            await asyncio.sleep(3600)
        if fault == "garbage":
            return await self.send(writer, 200, None, raw=b"<html>not json</html>")
        if fault == "cut":
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
            writer.write(b'Content-Length: 5000\r\n\r\n{"choices": [{"mess')
            await writer.drain()
        return False  # "cut" and "close": the connection ends here

    async def error(
        self,
        writer: asyncio.StreamWriter,
        status: int,
        message: str,
        code: str,
        headers: dict[str, str] | None = None,
    ) -> bool:
        content = {"error": {"message": message, "type": "error", "param": None, "code": code}}
        return await self.send(writer, status, content, headers)

    async def send(
        self,
        writer: asyncio.StreamWriter,
        status: int,
        content: Any,
        headers: dict[str, str] | None = None,
        raw: bytes | None = None,
    ) -> bool:
        body = raw if raw is not None else json.dumps(content).encode()
        lines = [f"HTTP/1.1 {status} X", "Content-Type: application/json"]
        lines += [f"Content-Length: {len(body)}", f"Date: {formatdate(usegmt=True)}"]
        lines += [f"{k}: {v}" for k, v in (headers or {}).items()]
        writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        await writer.drain()
        return True

    def echo(self, payload: dict[str, Any]) -> dict[str, Any]:
        """Legacy completions with `echo`: the prompt's words as tokens, then a generated one.

        A word's log probability is minus its number of letters; the first has none.
        """
        prompt = payload["prompt"]
        words = prompt.split(" ")
        offsets = [len(" ".join(words[:i])) + (i > 0) for i in range(len(words))]
        logs: list[float | None] = [None, *(-float(len(w)) for w in words[1:])]
        result: dict[str, Any] | None = {
            "tokens": [*words, "!"],
            "token_logprobs": [*logs, -99.0],
            "text_offset": [*offsets, len(prompt)],
        }
        if not payload.get("echo") or self.config.get("no_logprobs"):
            result = None
        choice = {"index": 0, "text": f"{prompt}!", "logprobs": result, "finish_reason": "length"}
        usage = {"prompt_tokens": len(words), "completion_tokens": 1}
        return {"id": "c", "object": "text_completion", "created": 0, "model": payload["model"],
                "choices": [choice], "usage": usage}  # fmt: skip

    def complete(self, payload: dict[str, Any]) -> dict[str, Any]:
        """Says back the last message; words in it ask for special endings."""
        text = payload["messages"][-1]["content"]
        reason = "stop"
        if "#refuse" in text:
            return {"error": {"message": "bad"}}
        if "#length" in text:
            reason = "length"
        if "#filter" in text:
            reason = "content_filter"
        answer = "" if "#empty" in text else f"echo: {text}"
        for pattern, reply in self.config.get("replies", ()):
            if re.search(pattern, text, re.DOTALL):
                answer = reply
                break
        if "#turns:" in text:  # another reply each time that the same is asked
            replies = text.split("#turns:", 1)[1].split("#")[0].split("|")
            answer = replies[self.turns[text] % len(replies)]
            self.turns[text] += 1
        if "#script:" in text:
            answer = text.split("#script:", 1)[1].split("#")[0]
        message = {"role": "assistant", "content": answer}
        if "speak" in self.config:
            message |= self.config["speak"](payload)
        words = [word for key in message.keys() - {"role"} for word in str(message[key]).split()]
        choice: dict[str, Any] = {
            "index": 0,
            "message": message,
            "finish_reason": reason,
        }
        if "#refusal" in text:
            choice["message"] = {
                "role": "assistant",
                "content": None,
                "refusal": "I will not say.",
            }
        if payload.get("logprobs"):
            tokens = [{"token": w, "logprob": -0.5, "top_logprobs": []} for w in words]
            choice["logprobs"] = {"content": tokens}
        return {
            "id": "x",
            "object": "chat.completion",
            "created": 0,
            "model": payload["model"],
            "choices": [] if "#nochoice" in text else [choice],
            "usage": {
                "prompt_tokens": len(text.split()),
                "completion_tokens": len(words),
                "total_tokens": len(text.split()) + len(words),
            },
        }

    def embed(self, payload: dict[str, Any]) -> dict[str, Any]:
        texts = payload["input"] if isinstance(payload["input"], list) else [payload["input"]]
        data = []
        for index, text in enumerate(texts):
            digest = hashlib.sha256(text.encode()).digest()
            vector = [b / 255 - 0.5 for b in digest[:8]]
            if "embed" in self.config:
                vector = self.config["embed"](text)
            data.append({"object": "embedding", "index": index, "embedding": vector})
        usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
        return {"object": "list", "data": data[::-1], "model": payload["model"], "usage": usage}
