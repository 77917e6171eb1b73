"""Turning errors into messages and exit codes, at the one place where they leave the program."""

from __future__ import annotations

import functools
import os
import sys
from typing import TYPE_CHECKING, ParamSpec

from estimator.cli.output import write
from estimator.errors import EXIT_FAILURE, EXIT_INTERRUPTED, EstimatorError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

P = ParamSpec("P")


def guarded(command: Callable[P, None]) -> Callable[P, None]:
    """Run a command so that nothing but a message and an exit code comes out of a failure."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except EstimatorError as error:
            _leave(error.exit_code, describe(error))
        except KeyboardInterrupt:
            _leave(EXIT_INTERRUPTED, "interrupted")
        except BrokenPipeError:
            _leave_closed_pipe()
        except Exception as error:
            if os.environ.get("ESTIMATOR_DEBUG"):
                raise
            _leave(
                EXIT_FAILURE,
                f"internal error: {type(error).__name__}: {error}; this is a bug, please report it "
                "(ESTIMATOR_DEBUG=1 shows where it happened)",
            )

    return run


def describe(error: EstimatorError) -> str:
    """Return the message; for an error in a file, with the line it stands in and a caret."""
    if not isinstance(error, InputError):
        return str(error)
    from estimator.catalog.excerpts import describe as with_excerpt

    return with_excerpt(error)


def _leave(code: int, message: str) -> NoReturn:
    write(sys.stderr, f"{message}\n" if message.startswith("internal") else f"error: {message}\n")
    if _is_in_group():
        os._exit(code)
    raise SystemExit(code)


def _is_in_group() -> bool:
    """Tell whether this process is still in a group of processes, as only a failure leaves it.

    PyTorch's threads wait for the others then, and taking the interpreter down around them may abort it.
    """
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    return distributed is not None and distributed.is_available() and bool(distributed.is_initialized())


def _leave_closed_pipe() -> NoReturn:
    """Leave quietly when the reader has gone (``| head``): nothing is wrong."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise SystemExit(0)
