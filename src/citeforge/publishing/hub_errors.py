"""Errors of the Hugging Face Hub, in one line that says what to do next."""

from collections.abc import Iterator
from contextlib import contextmanager

from citeforge.engines.keys import shorten_message
from citeforge.engines.model_files import http_errors
from citeforge.schemas.errors import InputError

_MOST_SAID = 600
"""Characters of what an error of the Hub says."""


class HubConnectionError(InputError):
    """The Hub could not be reached, or the connection broke."""


@contextmanager
def hub_errors(repo_id: str) -> Iterator[None]:
    """Turn errors of the Hub client in the ``with`` block into InputErrors with advice."""
    from huggingface_hub import errors

    of_network = errors.FileMetadataError, errors.LocalEntryNotFoundError
    try:
        yield
    except InputError:
        raise  # citeforge's own errors need no other words
    except Exception as error:
        problem: type[InputError] = InputError
        words = hub_error_words(error)
        if isinstance(error, errors.RepositoryNotFoundError):
            message = "the Hub shows no such repository to this token"
            allowed, code = "check the name, and the token (hf auth whoami)", "hub-refused"
        elif isinstance(error, errors.RevisionNotFoundError):
            message = f"the Hub has no such revision ({words})"
            allowed, code = "a branch, tag or commit of the repository", "hub-refused"
        elif isinstance(error, errors.HfHubHTTPError):
            status = getattr(error.response, "status_code", None)
            hints = {401: "a valid token in HF_TOKEN", 403: "a token with write access"}
            message = f"the Hub answered {status} ({words})"
            allowed = hints.get(status or 0, "run the same command again")
            code = "hub-refused" if status and status < 500 else "hub-failed"
        elif isinstance(error, errors.HFValidationError):
            message, allowed = f"not a name of a repository ({words})", "ORG/NAME"
            code = "bad-name"
        elif any(isinstance(e, errors.OfflineModeIsEnabled) for e in (error, error.__cause__)):
            problem, code = HubConnectionError, "hub-failed"
            message = "the Hub is switched off by HF_HUB_OFFLINE, and no copy is in the cache"
            allowed = "unset HF_HUB_OFFLINE, or name a folder"
        elif isinstance(error, of_network) or is_network(error):
            cause = error.__cause__ or error
            problem, words = HubConnectionError, hub_error_words(cause) or type(cause).__name__
            message = f"the connection to the Hub failed ({words})"
            allowed = "run the same command again: nothing is transferred or committed twice"
            code = "hub-failed"
        else:
            raise
        raise problem(message, path=repo_id, allowed=allowed, code=code) from error


def hub_error_words(error: BaseException) -> str:
    """Shorten an error's text to whole sentences of at most 600 characters, without keys."""
    return shorten_message(str(error), _MOST_SAID)


def is_network(error: BaseException) -> bool:
    """Whether an error, or its cause, comes from the network or an HTTP library."""
    kinds: tuple[type[BaseException], ...] = (ConnectionError, TimeoutError, *http_errors())
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, kinds):
            return True
        cause = cause.__cause__
    return False
