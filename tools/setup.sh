#!/bin/sh
# Make the virtual environment. First argument, what it is for:
#   product  the product, with the extras of the second argument
#   device   the product, tcuq-device, the lab without PyTorch, and the tools that build and run firmware
#   spark    the product with extras, tcuq-device, the lab without PyTorch, tcuq-watch on Spark, and Java
#   fleet    the product with extras, tcuq-watch, and an MQTT broker
#   trust    the product with extras, and tools that analyze and prove C
#   docs     all four distributions, without PyTorch: what the site is made from
#   lab      the product, tcuq-device and the lab, with PyTorch
#   test     all of these, and the tools that some tests use
#   products as test, without the lab and PyTorch
#   lock     as test with the newest versions, which tools/constraints.txt then names
# Versions are those of tools/constraints.txt where this Python and platform have them, else others.
# What cannot be installed is named; tests that need it skip themselves.
set -euf
cd "$(dirname "$0")/.."
kind=$1
extras=${2:-}
versions="-c tools/constraints.txt"
lab="-e ./lab[data,vision,sound,plots]"
case $kind in
    products) kind=test lab="" ;;
    lock) kind=test extras=dev versions="--upgrade --upgrade-strategy eager" ;;
    spark) versions="" ;; # needs an older pandas
esac
python=${PYTHON:-python3}

have() { command -v "$1" >/dev/null 2>&1; }

# Debian packages, only as root and only on a machine that has apt.
fetch() {
    if have apt-get && [ "$(id -u)" = 0 ]; then
        if [ -z "${updated:-}" ]; then
            apt-get update -qq || true
            updated=yes
        fi
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1 && return 0
    fi
    echo "setup: not installed: $* (on Debian, as root: apt-get install $*)" >&2
    return 1
}

if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    fetch python3-venv || exit 1
fi
if ! "$python" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))'; then
    fetch python3-dev || exit 1
fi
if [ "$kind" = test ] || [ "$kind" = device ]; then
    have gcc || fetch gcc libc6-dev || true
    have arm-none-eabi-gcc || fetch gcc-arm-none-eabi libnewlib-arm-none-eabi || true
    have qemu-system-arm || fetch qemu-system-arm || true
    have riscv64-unknown-elf-gcc || fetch gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf || true
    have qemu-system-riscv32 || fetch qemu-system-misc || true
fi
if [ "$kind" = spark ]; then
    have java || fetch default-jre-headless || true
fi
if [ "$kind" = trust ]; then
    have cppcheck || fetch cppcheck || true
    have frama-c || fetch frama-c-base || true
    have cbmc || fetch cbmc || true
fi
if [ "$kind" = fleet ] || [ "$kind" = test ]; then
    # Daemons are not always in the path of a user.
    { have mosquitto || [ -x /usr/sbin/mosquitto ]; } || fetch mosquitto || true
fi
if [ "$kind" = test ]; then
    have clang || fetch clang || true
    if have clang; then
        version=$(clang -dumpversion | cut -d. -f1)
        [ -n "$(find "$(clang -print-resource-dir)" -name 'libclang_rt.asan*' 2>/dev/null | head -n 1)" ] ||
            fetch "libclang-rt-$version-dev" || true
    fi
    # Conditions that decide on their own (MC/DC) are counted since version 18.
    have clang-19 || fetch clang-19 llvm-19 libclang-rt-19-dev || true
    have g++ || fetch g++ || true
    have valgrind || fetch valgrind || true
    # What builds exported packages.
    { have cmake && have ninja; } || fetch cmake ninja-build || true
    have cargo || fetch cargo || true
    have avr-gcc || fetch gcc-avr avr-libc || true
    have x86_64-w64-mingw32-gcc || fetch gcc-mingw-w64-x86-64 || true
    have simavr || fetch simavr || true
    have chromium || fetch chromium || true
    # An emulator of the RP2040, for one test.
    [ -d out/rp2040js ] || { have npm && npm install --silent --prefix out/rp2040js rp2040js@1.4.1 >/dev/null 2>&1; } ||
        echo "setup: not installed: rp2040js (npm install --prefix out/rp2040js rp2040js@1.4.1); its test is skipped" >&2
    # Both architectures must give the same bits: the other one runs in an emulator. Instruction counts are
    # promised for x86-64 and counted there as well.
    if [ "$(uname -m)" = x86_64 ]; then
        have aarch64-linux-gnu-gcc || fetch gcc-aarch64-linux-gnu libc6-dev-arm64-cross || true
        have qemu-aarch64 || fetch qemu-user || true
    else
        have x86_64-linux-gnu-gcc || fetch gcc-x86-64-linux-gnu libc6-dev-amd64-cross || true
        have qemu-x86_64 || fetch qemu-user || true
    fi
fi
[ -x .venv/bin/python ] || "$python" -m venv .venv
pip() { .venv/bin/python -m pip --quiet --disable-pip-version-check "$@"; }
install() {
    pip install $versions "$@" && return
    [ "${versions#-c}" != "$versions" ] || return 1
    echo "setup: trying other versions than those of tools/constraints.txt" >&2
    pip install "$@"
}
product=".${extras:+[$extras]}"
# What is installed beside it, in one call: they ask for this very version of each other.
case $kind in
    device) others="-e ./device -e ./lab" ;;
    lab) others="-e ./device $lab" ;;
    fleet) others="-e ./watch" ;;
    spark) others="-e ./device -e ./lab -e ./watch[spark]" ;;
    docs) others="-e ./device -e ./watch -e ./lab" ;;
    test) others="-e ./device -e ./watch $lab" ;;
    *) others="" ;;
esac
if [ "$kind" = docs ]; then
    # What is there needs no network.
    .venv/bin/python -c 'import furo, myst_parser, numpydoc, sphinx, tcuq._core, tcuq_device, tcuq_watch._native, tcuq_lab' 2>/dev/null && exit 0
    install -e "$product" $others ||
        { echo "setup: not installed: the tools of the site (pip install -e '$product' $others)" >&2; exit 2; }
    exit 0
fi
if [ "$kind" != test ] && [ "$kind" != lab ]; then
    install -e "$product" $others
    exit 0
fi
if [ -n "$lab" ] && ! .venv/bin/python -c 'import torch' 2>/dev/null; then
    # This version comes as a CPU build; the newest may bring gigabytes for GPUs.
    install torch==2.13.0 ||
        echo "setup: not installed: torch (pip install torch); what needs networks is skipped or refused" >&2
fi
install -e "$product" $others
if [ "$kind" = test ]; then
    # What runs models that are recorded (the tests also write ONNX files), what has tables, what builds the
    # site, and what executes notebooks. Not every platform has all of them.
    for package in ai-edge-litert onnxruntime onnx pyarrow pandas polars sphinx myst-parser numpydoc furo nbclient ipykernel; do
        install "$package" || echo "setup: not installed: $package (pip install $package); its tests are skipped" >&2
    done
fi
if [ "$1" = lock ]; then
    # The newest versions have no Python 3.10. A build for one platform (+cpu) is another one elsewhere.
    pip freeze --exclude-editable | sed '/^#/d; s/+cpu$//; s/$/ ; python_version >= "3.11"/' >tools/constraints.txt
fi
