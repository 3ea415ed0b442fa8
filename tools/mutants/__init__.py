# SPDX-License-Identifier: MIT
"""Mutation testing of the core: one small change at a time, and whether a test notices."""
