"""One attempt of KGUARD in the tests of this room."""

from tests.kguard_attempts import one_attempt

__all__ = ["one_attempt"]
