"""A stand-in for the Hub's sign-in (OpenID Connect): everybody who asks is `account`, at once."""

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlparse

CLIENT, SECRET = "client-of-the-space", "secret-of-the-space-0123456789-0123456789"


@dataclass
class SignIn:
    """State of the stand-in."""

    account: str = "ann"
    url: str = ""
    nonces: dict[str, str] = field(default_factory=dict)  # code to nonce

    @property
    def environment(self) -> dict[str, str]:
        """What the Hub sets in a Space with sign-in."""
        return {
            "SYSTEM": "spaces", "SPACE_ID": "ann/space", "OAUTH_CLIENT_ID": CLIENT,
            "OAUTH_CLIENT_SECRET": SECRET, "OAUTH_SCOPES": "openid profile",
            "OPENID_PROVIDER_URL": self.url,
        }  # fmt: skip

    def token(self, nonce: str) -> str:
        """A signed statement of who signed in."""
        claims = {
            "iss": self.url, "aud": CLIENT, "sub": self.account, "nonce": nonce,
            "iat": int(time.time()), "exp": int(time.time()) + 3600, "name": self.account.title(),
            "preferred_username": self.account, "profile": f"{self.url}/{self.account}",
            "picture": "",
        }  # fmt: skip
        parts = [packed(json.dumps(p).encode()) for p in ({"alg": "HS256", "kid": "k"}, claims)]
        signed = hmac.digest(SECRET.encode(), ".".join(parts).encode(), hashlib.sha256)
        return ".".join([*parts, packed(signed)])


def packed(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


class Handler(BaseHTTPRequestHandler):
    service: SignIn

    def log_message(self, *args: Any) -> None:
        pass

    def send(self, content: dict[str, Any]) -> None:
        data = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        url, address = self.service.url, urlparse(self.path)
        if address.path == "/.well-known/openid-configuration":
            self.send({
                "issuer": url, "authorization_endpoint": f"{url}/oauth/authorize",
                "token_endpoint": f"{url}/oauth/token", "jwks_uri": f"{url}/keys",
                "id_token_signing_alg_values_supported": ["HS256"],
            })  # fmt: skip
        elif address.path == "/keys":
            self.send({"keys": [{"kty": "oct", "kid": "k", "k": packed(SECRET.encode())}]})
        elif address.path == "/oauth/authorize":
            asked = {k: v[0] for k, v in parse_qs(address.query).items()}
            code = f"code-{len(self.service.nonces)}"
            self.service.nonces[code] = asked["nonce"]
            mark = "&" if "?" in asked["redirect_uri"] else "?"
            back = urlencode({"code": code, "state": asked["state"]})
            self.send_response(302)
            self.send_header("Location", f"{asked['redirect_uri']}{mark}{back}")
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            self.send_error(404)

    def do_POST(self) -> None:
        body = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        nonce = self.service.nonces[body["code"][0]]
        self.send({
            "access_token": "token-of-a-participant", "token_type": "bearer", "expires_in": 3600,
            "id_token": self.service.token(nonce),
        })  # fmt: skip


@contextmanager
def sign_in_server(account: str = "ann") -> Iterator[SignIn]:
    """A running stand-in."""
    service = SignIn(account)
    handler = type("Bound", (Handler,), {"service": service})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    service.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
