"""Options that several commands share."""

from collections.abc import Callable
from typing import Any, TypeVar

from citeforge.cli.path_options import path_option
from citeforge.cli.record_options import add_options, field_options, record_from
from citeforge.schemas.recipes.base import Judging
from citeforge.schemas.recipes.run import ENDPOINT, LOCAL, RUNNER, RunOptions

F = TypeVar("F", bound=Callable[..., Any])

benchmark_option = path_option(
    "--benchmark", required=True, help="Package, or hub:ORG/NAME[@REVISION]."
)
verdicts_option = add_options(field_options(RunOptions, ("verdicts",)))
_LOCAL_JUDGE = [n for n in Judging.model_fields if n != "judge"]


model_options = add_options(
    [*field_options(Judging, _LOCAL_JUDGE), *field_options(RunOptions, LOCAL)]
)
"""Options of local judge models."""


def endpoint_options(command: F) -> F:
    """Options of everything that may talk to an endpoint, and on whose machines."""
    return add_options(field_options(RunOptions, (*ENDPOINT, *RUNNER)))(command)


def run_options(options: dict[str, Any], **more: Any) -> RunOptions:
    """How engines run, as parsed options say, and what else is known, by field.

    Raises:
        UsageError: an option is wrong, or goes with another engine.
    """
    from citeforge.engines.runner import make_runner

    run = record_from(RunOptions, options | more)
    make_runner(run)
    return run
