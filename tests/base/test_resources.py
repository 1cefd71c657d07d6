"""The import of public names."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SEEN = """
import os, sys
import kgreason
inside = []

class Finder:
    def find_spec(self, name, *_):
        if name == "numpy":
            inside.append(os.environ.get("OPENBLAS_THREAD_TIMEOUT"))

sys.meta_path.insert(0, Finder())
kgreason.reason
print(inside, os.environ.get("OPENBLAS_THREAD_TIMEOUT"))
"""


@pytest.mark.parametrize(
    ("given", "expected"), [({}, "['4'] None"), ({"OPENBLAS_THREAD_TIMEOUT": "20"}, "['20'] 20")]
)
def test_threads_of_numpy_sleep_and_the_environment_stays(given: dict[str, str], expected: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_THREAD_TIMEOUT"}
    done = subprocess.run(
        [sys.executable, "-c", SEEN], env=environment | given, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == expected
