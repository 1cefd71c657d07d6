"""Version of kgreason."""

VERSION = "0.1.0"
