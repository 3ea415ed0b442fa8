"""What a fit or a search found, in words for a person."""

from __future__ import annotations

from ..monitor.cost import cost
from ..monitor.params import Params


def fit_findings(params: Params) -> str:
    """Return what the fit found, for a person.

    Parameters
    ----------
    params : Params
        From `fit`.
    """
    found = params.notes.get("fit")
    if not found:
        return "These parameters carry no findings of a fit."
    lines = [
        f"{found['steps']:,} steps in {found['segments']} segment(s), {found['clean_steps']:,} of them clean."
    ]
    if found["labels"]:
        lines.append(
            f"{found['errors']:,} errors. AUROC of errors: risk {found['auroc']:.3f}, "
            f"1 - max probability {found['auroc_confidence']:.3f}."
        )
    if found["labels"] and "signals" in found:
        lines.append(found["time"])
        lines.append(f"{'signal':<15}{'coef':>9}{'clean mean':>12}{'alone':>8}{'adds':>9}   (held-out AUROC)")
        for name, row in found["signals"].items():
            cells = [
                f"{row[k]:{f}}" if row[k] is not None else "-"
                for k, f in (("coef", "+.3f"), ("clean_mean", ".3f"), ("alone", ".3f"), ("adds", "+.4f"))
            ]
            lines.append(f"{name:<15}{cells[0]:>9}{cells[1]:>12}{cells[2]:>8}{cells[3]:>9}")
    if found["labels"]:
        lines.append(
            f"Storing the weights in 16 bits changes the loss of {found['loss']:.4f} by "
            f"{found['loss_from_quantization']:+.6f}, the AUROC from {found['auroc_float']:.4f} to "
            f"{found['auroc_core']:.4f}."
        )
    if "mean_uncertainty" in found:
        lines.append(
            f"Uncertainty reads as a probability of error: its mean is {found['mean_uncertainty']:.4f}, the "
            f"share of errors {found['errors'] / found['steps']:.4f}."
        )
    lines.append(f"Threshold starts at {params.reference:.3f} and flags {params.level:g} of the steps.")
    learned = found.get("evidence")
    if learned:
        lines.append(
            f"The alarm sums evidence, learned on {learned['degraded_steps']:,} degraded and "
            f"{learned['clean_steps']:,} clean steps ({learned['benign_steps']:,} of shifts that cost no "
            f"accuracy left out): {learned['mean_degraded']:+.3f} a degraded step on average, "
            f"{learned['mean_clean']:+.3f} a clean one, AUROC {learned['auroc']:.3f} on these."
        )
    elsewhere = found.get("run_length_elsewhere")
    if elsewhere:
        lines.append(
            f"Alarm set for one false alarm in {found['run_length']:,} clean steps; set on half of the clean "
            f"data it was raised {elsewhere['false_alarms']} time(s) in {elsewhere['steps']:,} steps of the "
            "other half."
        )
    lines += [f"Note: {warning}." for warning in found["warnings"]]
    return "\n".join(lines)


def tune_findings(params: Params) -> str:
    """Return what the search found, for a person.

    Parameters
    ----------
    params : Params
        From `tune`.
    """
    found = params.notes.get("tune")
    if not found:
        return "These parameters carry no findings of a search."
    price = cost(params)
    lags = ", ".join(map(str, params.lags))
    profile = params.profile if params.features else f"{params.profile} on posteriors only"

    def shown(value: float | None) -> str:
        return "unknown" if value is None else f"{value:.4f}"

    return "\n".join(
        [
            f"{found['trials']} settings, {found['within_limits']} within {found['max_bytes']:,} bytes and "
            f"{found['max_instructions']:,} instructions.",
            f"Chosen: profile {profile}, lags {lags} weighted {found['weight_law']}, "
            f"doubt mix {params.doubt_mix:g}, blend {params.blend:.2f}, level {params.level:g}, window "
            f"{params.window}: {price.ram_bytes} bytes, about {price.instructions:,} instructions a step.",
            f"AUROC of errors on the {found['check_steps']:,} steps that no search saw, with "
            f"{found['check_errors']} errors: {shown(found['check_auroc'])}, default settings "
            f"{shown(found['check_auroc_default'])}.",
        ]
    )
