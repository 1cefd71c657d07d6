"""The tests of kgreason."""

import os

# Each worker has a core. Further threads of NumPy's OpenBLAS wait for it in busy loops, which takes most of its time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
