"""The kinds of sound corruption, with the setting of each severity.

Twelve are those that the paper takes from audiomentations; three are our own (`acoustics`). The severities of
all are our own. Each setting is stronger than the one before: ratios of signal to noise fall, cut-offs and
bands narrow, gains, distances, masks and factors grow. A clip meets the same random numbers at all of
them.
"""

from __future__ import annotations

from .suite import Kind, Suite


def _kinds() -> dict[str, Kind]:
    library: dict[str, tuple[float, ...]] = {
        "gaussian_noise": (20.0, 15.0, 10.0, 5.0, 0.0),  # signal to noise, dB
        "air_absorption": (100.0, 250.0, 500.0, 1000.0, 2000.0),  # meters
        "band_pass_filter": (1.8, 1.4, 1.0, 0.7, 0.4),  # width of the band to its center
        "band_stop_filter": (0.2, 0.35, 0.5, 0.7, 1.0),  # width of the band to its center
        "high_pass_filter": (200.0, 400.0, 700.0, 1100.0, 1600.0),  # Hz
        "high_shelf_filter": (8.0, 14.0, 20.0, 26.0, 32.0),  # dB up or down
        "low_pass_filter": (3000.0, 2100.0, 1500.0, 1000.0, 650.0),  # Hz
        "low_shelf_filter": (8.0, 14.0, 20.0, 26.0, 32.0),  # dB up or down
        "peaking_filter": (6.0, 11.0, 16.0, 22.0, 28.0),  # dB up or down
        "tanh_distortion": (0.05, 0.1, 0.2, 0.35, 0.6),  # share of samples bent
        "time_mask": (
            0.04,
            0.08,
            0.12,
            0.16,
            0.20,
        ),  # of each second; more leaves nothing of short words
        "time_stretch": (1.15, 1.3, 1.45, 1.6, 1.8),  # faster or slower by this factor
    }
    kinds = {name: Kind("sound", name, settings) for name, settings in library.items()}
    kinds["background_noise"] = Kind("acoustics", "background_noise", (20.0, 15.0, 10.0, 5.0, 0.0))  # dB
    # Seconds of reverberation, and direct sound to echoes in dB.
    rooms = ((0.2, 8.0), (0.35, 4.0), (0.55, 1.0), (0.8, -2.0), (1.2, -5.0))
    kinds["room_reverb"] = Kind("acoustics", "room_reverb", rooms)
    kinds["pitch_shift"] = Kind("acoustics", "pitch_shift", (1.0, 2.0, 3.0, 4.5, 6.0))  # semitones
    return kinds


SPEECH_C = Suite(
    name="speech_c",
    about="Speech Commands: 15 corruption types, 5 severities, before the front end",
    media="sound",
    kinds=_kinds(),
    seen=("gaussian_noise", "low_pass_filter", "time_mask", "background_noise"),
)
