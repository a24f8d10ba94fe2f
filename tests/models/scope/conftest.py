"""What tests of the scope share."""

from tests.one_thread import one_thread as one_thread
