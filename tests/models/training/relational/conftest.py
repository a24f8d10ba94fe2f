"""One thread, so that a training is always the same."""

from tests.one_thread import one_thread as one_thread
