"""Why-provenance and why-not provenance: proof trees of minimal height."""
