"""What a monitor of posteriors alone costs on an AVR (ATmega2560), and whether it decides as Python does.

    python tools/avr_cost.py

Needs gcc-avr, avr-libc and simavr. Flash and RAM are what the monitor adds to a program without it; cycles
are those of Timer 1, which counts every eighth. With --write, bench/avr.json is written, where it differs.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tcuq import Monitor
from tcuq.monitor.params import Params
from tcuq_device.cost.measure import made_stream
from tcuq_device.cost.stock import monitors
from tcuq_device.firmware.decision import CORE, Watch
from tcuq_lab.changes import put

STEPS = 100
CHIP = "atmega2560"

PROGRAM = """\
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/pgmspace.h>
#include <avr/sleep.h>
#include <stdint.h>
#include "monitor.h"
static const int8_t rows[] PROGMEM = {%(rows)s};
static void put(char letter)
{
    while (!(UCSR0A & (1 << UDRE0))) {}
    UDR0 = (uint8_t)letter;
}
static void number(uint32_t value)
{
    char digits[11];
    uint8_t count = 0;
    do { digits[count++] = (char)('0' + value %% 10u); value /= 10u; } while (value);
    while (count) { put(digits[--count]); }
    put(' ');
}
int main(void)
{
    uint8_t i, j;
    int8_t probs[%(classes)d];
#if WATCH
    static tcuq_t state;
    static uint32_t ring[MONITOR_RING_BYTES / 4u + 1u];
    tcuq_step_t said;
    int status = tcuq_init(&state, &monitor, ring, sizeof ring);
#endif
    UCSR0B = 1 << TXEN0;
    TCCR1B = 1 << CS11;
    for (i = 0; i < %(steps)d; i++) {
        for (j = 0; j < sizeof probs; j++) { probs[j] = (int8_t)pgm_read_byte(&rows[i * sizeof probs + j]); }
        TCNT1 = 0;
#if WATCH
        tcuq_step(&state, probs, 0, &said, 0);
        number(8u * (uint32_t)TCNT1);
        number(said.answer);
        number(said.risk);
        number(said.threshold);
        number((uint32_t)(said.abstain + 2 * said.alarm + 4 * status));
#else
        number((uint32_t)(uint8_t)probs[0]);
#endif
        put('\\n');
    }
    cli();
    sleep_enable();
    sleep_cpu();
    return 0;
}
"""


def built(params: Params, folder: Path, watch: bool) -> Path:
    """Compile and link the program, with the monitor or without it."""
    rule = Watch(params)
    for name, text in rule.texts().items():
        (folder / name).write_text(text)
    rows = ", ".join(map(str, made_stream(params.classes, 0, STEPS).ravel().tolist()))
    text = PROGRAM % {"rows": rows, "classes": params.classes, "steps": STEPS}
    (folder / "main.c").write_text(text)
    target = folder / f"watch{int(watch)}.elf"
    options = [
        f"-mmcu={CHIP}",
        "-Os",
        "-std=gnu99",
        "-ffunction-sections",
        "-fdata-sections",
        "-Wl,--gc-sections",
    ]
    options += [*rule.options(), f"-DWATCH={int(watch)}", f"-I{folder}", f"-I{CORE}"]
    files = [folder / "main.c", *([folder / "monitor.c", *sorted(CORE.glob("*.c"))] if watch else [])]
    subprocess.run(["avr-gcc", *options, *map(str, files), "-o", target], check=True)
    return target


def bytes_of(elf: Path) -> tuple[int, int]:
    """Return bytes of flash and of RAM; constants lie in both."""
    said = subprocess.run(["avr-size", elf], check=True, capture_output=True, text=True).stdout
    text, data, bss = map(int, said.splitlines()[1].split()[:3])
    return text + data, data + bss


def _fixed(value: float) -> int:
    return round(value * 65536)


def main() -> int:
    """Print a line for each monitor; return 1 where a decision is not Python's."""
    wrong, rows = 0, []
    for name in ("standard, posteriors alone", "paper, posteriors alone"):
        params = monitors()[name]
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            with_it, without = (bytes_of(built(params, folder, watch)) for watch in (True, False))
            command = ["simavr", "-m", CHIP, "-f", "16000000", folder / "watch1.elf"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        # The simulator colors what comes out of the UART, and prints it on either stream.
        found = re.findall(r"((?:\d+ ){5})\.", done.stdout + done.stderr)
        steps = [list(map(int, line.split())) for line in found]
        monitor = Monitor(params)
        expected = [monitor.step(row) for row in made_stream(params.classes, 0, STEPS)]
        same = [
            step[1:]
            == [each.answer, _fixed(each.risk), _fixed(each.threshold), each.abstain + 2 * each.alarm]
            for step, each in zip(steps, expected, strict=True)
        ]
        cycles = [step[0] for step in steps]
        more = with_it[0] - without[0], with_it[1] - without[1]
        print(
            f"{CHIP}, {name}: {more[0]:,} bytes of flash, {more[1]:,} of RAM, "
            f"{sum(cycles) / len(cycles):,.0f} cycles a step (at most {max(cycles):,}), "
            f"{sum(same)} of {len(same)} steps as in Python"
        )
        rows.append(
            {
                "chip": CHIP,
                "name": name,
                "flash": more[0],
                "ram": more[1],
                "cycles": sum(cycles) / len(cycles),
            }
        )
        wrong += len(same) - sum(same)
    compiler = subprocess.run(["avr-gcc", "--version"], check=True, capture_output=True, text=True).stdout
    found = {"compiler": compiler.splitlines()[0], "steps": STEPS, "measured": rows}
    text = json.dumps(found, indent=1, allow_nan=False) + "\n"
    put("bench/avr.json", text, "--write" in sys.argv)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
