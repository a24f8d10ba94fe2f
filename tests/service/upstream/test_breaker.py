from service.upstream.breaker import FAILURES, FIRST_PAUSE_S, Breaker


def test_one_request_tries_after_the_pause_and_decides_for_the_others() -> None:
    now = 0.0
    breaker = Breaker(lambda: now)
    for _ in range(FAILURES):
        assert breaker.find_pause() is None
        breaker.note(failed=True)
    assert breaker.find_pause() == FIRST_PAUSE_S
    now = FIRST_PAUSE_S
    assert breaker.find_pause() is None
    assert breaker.find_pause() is not None
    breaker.note(failed=True)
    now += FIRST_PAUSE_S
    assert breaker.find_pause() == FIRST_PAUSE_S  # the pause doubles
    now += FIRST_PAUSE_S
    assert breaker.find_pause() is None
    breaker.note(failed=False)
    assert breaker.find_pause() is None


def test_failures_of_requests_under_way_lengthen_no_pause() -> None:
    breaker = Breaker(lambda: 0.0)
    for _ in range(10):
        breaker.note(failed=True)
    assert breaker.find_pause() == FIRST_PAUSE_S
