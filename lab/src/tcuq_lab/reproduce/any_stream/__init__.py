"""Any stream: one monitor per network, fitted without knowing how long classes stay, judged at all paces."""
