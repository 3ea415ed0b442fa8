"""Questions about the standard monitor, each answered by variants that lack a part of it."""
