"""Uncertainties of a Dirichlet distribution over posteriors."""

from __future__ import annotations

import torch
from torch import Tensor


def differential_entropy(alpha: Tensor) -> Tensor:
    """Return the differential entropy (nats) of Dirichlet distributions, one a row.

    Examples
    --------
    >>> round(float(differential_entropy(torch.ones(1, 3).double())), 6)  # uniform: log of 1 / 2
    -0.693147
    """
    total, classes = alpha.sum(1), alpha.shape[1]
    volume = torch.lgamma(alpha).sum(1) - torch.lgamma(total)
    inner = ((alpha - 1) * torch.digamma(alpha)).sum(1)
    return volume + (total - classes) * torch.digamma(total) - inner


def expected_entropy(alpha: Tensor) -> Tensor:
    """Return the mean entropy (nats) of posteriors that are drawn from Dirichlet distributions.

    Examples
    --------
    >>> round(float(expected_entropy(torch.full((1, 2), 1e9).double())), 6)  # surely (1/2, 1/2)
    0.693147
    """
    total = alpha.sum(1, keepdim=True)
    mean = alpha / total
    return (mean * (torch.digamma(total + 1) - torch.digamma(alpha + 1))).sum(1)
