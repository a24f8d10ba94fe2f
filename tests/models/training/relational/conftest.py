"""One thread, so that a training is the same every time."""

from tests.one_thread import one_thread as one_thread
