"""Checks of the built documentation, and of the product's own pages, in headless Chromium."""
