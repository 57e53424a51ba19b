"""Errors of the Hugging Face Hub, in one line that says what to do next."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager

from citeforge.engines.models.files import http_errors
from citeforge.schemas.errors import InputError

_MOST_SAID = 600
"""Characters of what an error of the Hub says."""


class HubConnectionError(InputError):
    """The Hub could not be reached, or the connection broke."""


@contextmanager
def hub_errors(repo_id: str) -> Iterator[None]:
    """Turn the Hub's errors into one line that says what to do next."""
    from huggingface_hub.errors import (
        FileMetadataError,
        HfHubHTTPError,
        HFValidationError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    try:
        yield
    except RepositoryNotFoundError as error:
        raise InputError(
            "the Hub shows no such repository to this token",
            path=repo_id,
            allowed="check the name, and the token (hf auth whoami)",
        ) from error
    except RevisionNotFoundError as error:
        raise InputError(
            f"the Hub has no such revision ({hub_error_words(error)})",
            path=repo_id,
            allowed="a branch, tag or commit of the repository",
        ) from error
    except HfHubHTTPError as error:
        status = getattr(error.response, "status_code", None)
        hint = {401: "a valid token in HF_TOKEN", 403: "a token with write access"}.get(
            status or 0, "run the same command again"
        )
        raise InputError(
            f"the Hub answered {status} ({hub_error_words(error)})", path=repo_id, allowed=hint
        ) from error
    except HFValidationError as error:
        raise InputError(
            f"is no name of a repository ({hub_error_words(error)})",
            path=repo_id,
            allowed="ORG/NAME",
        ) from error
    except InputError:
        raise  # ours, whatever it was made of
    except Exception as error:
        is_hub = isinstance(error, FileMetadataError | LocalEntryNotFoundError)
        if not is_hub and not is_network(error):
            raise
        cause = error.__cause__ or error
        raise HubConnectionError(
            f"the connection to the Hub failed ({hub_error_words(cause) or type(cause).__name__})",
            path=repo_id,
            allowed="run the same command again: nothing is transferred or committed twice",
        ) from error


def hub_error_words(error: BaseException) -> str:
    """What an error says, in one line, without the token."""
    text, secret = str(error), os.environ.get("HF_TOKEN")
    text = text.replace(secret, "[token]") if secret else text
    return textwrap.shorten(text, _MOST_SAID, placeholder=" …")


def is_network(error: BaseException) -> bool:
    """Errors of the HTTP library, also where huggingface_hub wrapped them."""
    kinds: tuple[type[BaseException], ...] = (ConnectionError, TimeoutError, *http_errors())
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, kinds):
            return True
        cause = cause.__cause__
    return False
