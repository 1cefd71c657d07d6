"""Interrupts that wait."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import pytest

from kgreason.interrupts import deferred


@pytest.fixture(autouse=True)
def usual() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_waits_for_the_end_of_the_block():
    done = []

    def work() -> None:
        with deferred():
            signal.raise_signal(signal.SIGINT)
            done.append("whole")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["whole"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_other_signals_wait_as_well(name):
    number, done = getattr(signal, name), []
    before = signal.signal(number, signal.default_int_handler)

    def work() -> None:
        with deferred():
            signal.raise_signal(number)
            done.append("whole")

    try:
        with pytest.raises(KeyboardInterrupt):
            work()
        assert (done, signal.getsignal(number)) == (["whole"], signal.default_int_handler)
    finally:
        signal.signal(number, before)


def test_an_error_of_the_block_comes_out():
    with pytest.raises(ValueError, match="no"), deferred():
        raise ValueError("no")


def test_what_ignores_interrupts_goes_on_doing_so():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with deferred():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_other_threads_are_not_interrupted():
    done = []

    def work() -> None:
        with deferred():
            done.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [signal.default_int_handler]
