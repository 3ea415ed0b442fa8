"""Uncertainties of a Dirichlet distribution over posteriors."""

from __future__ import annotations

import torch
from torch import Tensor


def differential_entropy(alpha: Tensor) -> Tensor:
    """Return the differential entropy (nats) of Dirichlet distributions, one a row."""
    total, classes = alpha.sum(1), alpha.shape[1]
    volume = torch.lgamma(alpha).sum(1) - torch.lgamma(total)
    inner = ((alpha - 1) * torch.digamma(alpha)).sum(1)
    return volume + (total - classes) * torch.digamma(total) - inner


def expected_entropy(alpha: Tensor) -> Tensor:
    """Return the mean entropy (nats) of posteriors that are drawn from Dirichlet distributions."""
    total = alpha.sum(1, keepdim=True)
    mean = alpha / total
    return (mean * (torch.digamma(total + 1) - torch.digamma(alpha + 1))).sum(1)
