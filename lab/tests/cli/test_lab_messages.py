"""What `tcuq-lab` says to a command line that is wrong, word for word."""

from __future__ import annotations

import pytest

from tcuq_lab.cli import main

COMMANDS = """
$ tcuq-lab train
the following arguments are required: CONFIG, --out; for example: tcuq-lab train resnet8 --out weights \
--members 7 (see tcuq-lab train --help)
$ tcuq-lab data get nope
dataset 'nope' is unknown, expected one of mnist, fashion_mnist, cifar10, svhn, tinyimagenet, \
tinyimagenet20, speech_commands, speech_commands_v2, signs, motion, speech_noise (tcuq-lab data list shows \
all)
"""


@pytest.mark.parametrize("case", COMMANDS.strip().removeprefix("$ ").split("\n$ "))
def test_commands(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    line, message = case.split("\n")
    assert main(line.split()[1:]) == 2
    assert capsys.readouterr() == ("", f"tcuq-lab: {message}\n")
