"""Programs on an emulated AVR, where int has 16 bits and constants lie in RAM."""

from __future__ import annotations

import subprocess
from pathlib import Path

from cortex import need

_PROGRAM = """\
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
#include <stdio.h>
%s
static int put(char sign, FILE *file)
{
    (void)file;
    while (!(UCSR0A & (1 << UDRE0))) {}
    UDR0 = (uint8_t)sign;
    return 0;
}
static FILE out = FDEV_SETUP_STREAM(put, NULL, _FDEV_SETUP_WRITE);
int main(void)
{
    UCSR0B = 1 << TXEN0;
    stdout = &out;
    printf("check %%d\\n", check());
    cli();
    sleep_enable();
    sleep_cpu();
    return 0;
}
"""


def on_avr(folder: Path, check: str, sources: list[Path], *flags: str) -> str:
    """Return what a program prints that calls the function `check` of this text."""
    compiler, simulator = need("avr-gcc", "gcc-avr avr-libc"), need("simavr", "simavr")
    (folder / "avr.c").write_text(_PROGRAM % check)
    options = ["-mmcu=atmega2560", "-DF_CPU=16000000", "-Os", "-std=gnu11", "-Wall", "-Wextra", "-Werror"]
    options += ["-ffunction-sections", "-Wl,--gc-sections", *flags]
    options += sorted({f"-I{source.parent}" for source in sources})
    command = [compiler, *options, folder / "avr.c", *sources, "-o", folder / "avr.elf"]
    subprocess.run(command, check=True)
    command = [simulator, "-m", "atmega2560", "-f", "16000000", folder / "avr.elf"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return done.stdout + done.stderr
