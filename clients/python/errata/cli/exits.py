"""What the exit code of `errata` says, so that scripts can tell why a command did not do its work."""

from enum import IntEnum


class Exit(IntEnum):
    OK = 0
    REFUSED = 1  # the service said no, and why
    USAGE = 2  # the command line cannot be used as it is
    UNREACHABLE = 3  # nobody answered, or somebody who is not Errata
    UNSURE = 4  # `ask`: the model declines to answer
    BROKEN = 5  # `check`: a fact test no longer holds, or rows of an import are damaged
    UNWRITABLE = (
        6  # stdout, stderr or the file of a backup takes no more; what was asked for may be done all the same
    )
    UNKNOWN = 7  # a change may have been made or not: repeat it with its idempotency key
