"""Attackers on a release: what each knows, whom he finds, and what he would find without the release."""
