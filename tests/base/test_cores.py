"""Work shared by threads."""

from __future__ import annotations

import threading
import time
from contextvars import ContextVar

import pytest

from kgreason.base import cores

VALUE = ContextVar("VALUE", default=0)


@pytest.fixture(params=[1, 3])
def several(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(cores, "cores", lambda: request.param)
    return int(request.param)


def test_results_come_in_the_order_of_the_items(several):
    assert cores.each(lambda i: i * i, range(200)) == [i * i for i in range(200)]
    assert cores.each(str, []) == []


def test_threads_see_the_context_of_their_caller(several):
    token = VALUE.set(7)
    try:
        assert set(cores.each(lambda _: VALUE.get(), range(8))) == {7}
    finally:
        VALUE.reset(token)


def test_nothing_is_begun_after_a_failure(several):
    begun: list[int] = []
    failed = threading.Event()

    def work(i: int) -> None:
        begun.append(i)
        if i == 0:
            failed.set()
            raise ValueError("no")
        assert failed.wait(10)

    with pytest.raises(ValueError, match="no"):
        cores.each(work, range(10_000))
    assert len(begun) < 10_000


@pytest.mark.parametrize("waits", [False, True])
def test_nothing_is_begun_after_an_interrupt(waits, monkeypatch):
    """Whether the main thread, which hears of it, works or has done its share."""
    monkeypatch.setattr(cores, "cores", lambda: 2)
    begun, dropped, main = threading.Event(), threading.Event(), threading.current_thread()
    seen: list[bool] = []

    def interrupt(_: object = None) -> None:
        raise KeyboardInterrupt

    def work() -> None:
        if threading.current_thread() is not main:
            begun.set()
            seen.append(dropped.wait(10))
        elif begun.wait(10) and not waits:
            interrupt()

    monkeypatch.setattr("concurrent.futures.Future.result", interrupt)
    with pytest.raises(KeyboardInterrupt):
        cores.together(work, 2, dropped.set)
    assert seen == [True]


def test_work_on_all_cores_may_do_other_work_on_all_cores(several):
    sums = cores.each(lambda i: sum(cores.each(lambda j: i * j, range(20))), range(20))
    assert sums == [190 * i for i in range(20)]


def test_both_return_their_results_and_raise_their_errors(several):
    assert cores.both(lambda: 1, lambda: "a", 1 << 30) == (1, "a")
    with pytest.raises(ZeroDivisionError):
        cores.both(lambda: 1, lambda: 1 // 0, 1 << 30)


def test_the_first_of_both_runs_in_the_thread_of_the_caller(several):
    for _ in range(50):
        first, _ = cores.both(threading.get_ident, lambda: time.sleep(0.001), 1 << 30)
        assert first == threading.get_ident()
