"""One torch thread for the toys."""

from tests.one_thread import one_thread as one_thread
