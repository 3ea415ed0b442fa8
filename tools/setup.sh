#!/bin/sh
# Make the virtual environment for what the first argument names:
#   demo     the product, with what its demo needs
#   bench    the product, with its peers
#   docs     all four distributions, without PyTorch, and what builds and opens the site
#   fleet    the product and tcuq-watch, an MQTT broker
#   spark    the same on Spark, with Java
#   device   the product, tcuq-device and the lab, tools that build and run firmware
#   product  what the tests of the product need: all but the lab and PyTorch
#   test     what all tests need
#   trust    the same, and tools that analyze and prove C
#   lock     as test with the newest versions, which tools/constraints.txt then names
# Versions are those of tools/constraints.txt where this Python and platform have them, else others.
# What cannot be installed is named; tests that need it skip themselves.
set -euf
cd "$(dirname "$0")/.."
kind=$1
python=${PYTHON:-python3}
case $(uname -m) in
    x86_64) other="aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu,libc6-dev-arm64-cross" ;;
    *) other="x86_64-linux-gnu-gcc:gcc-x86-64-linux-gnu,libc6-dev-amd64-cross" ;;
esac
firmware="arm-none-eabi-gcc:gcc-arm-none-eabi,libnewlib-arm-none-eabi qemu-system-arm:qemu-system-arm
    riscv64-unknown-elf-gcc:gcc-riscv64-unknown-elf,picolibc-riscv64-unknown-elf qemu-system-riscv32:qemu-system-misc"
compilers="gcc:gcc,libc6-dev g++:g++ clang:clang clang-19:clang-19,llvm-19,libclang-rt-19-dev valgrind:valgrind cmake:cmake
    ninja:ninja-build cargo:cargo avr-gcc:gcc-avr,avr-libc simavr:simavr x86_64-w64-mingw32-gcc:gcc-mingw-w64-x86-64
    chromium:chromium mosquitto:mosquitto qemu-aarch64:qemu-user $other"
all="-e ./device -e ./watch"
beside="ai-edge-litert onnxruntime onnx pyarrow pandas polars sphinx myst-parser numpydoc furo nbclient ipykernel"
case $kind in
    demo) programs="" packages="-e .[demo]" beside="" ;;
    bench) programs="" packages="-e .[bench,demo]" beside="" ;;
    docs) programs="chromium:chromium" packages="-e .[docs,dev] $all -e ./lab" beside="" ;;
    fleet) programs="mosquitto:mosquitto" packages="-e .[demo] -e ./watch" beside="" ;;
    spark) programs="java:default-jre-headless" packages="-e .[dev] -e ./device -e ./watch[spark] -e ./lab" beside="" ;;
    device) programs=$firmware packages="-e . -e ./device -e ./lab[data,vision,sound,plots]" beside=torch==2.13.0 ;;
    product) programs="$firmware $compilers" packages="-e .[dev] $all" ;;
    test | lock) programs="$firmware $compilers" packages="-e .[dev] $all -e ./lab[data,vision,sound,plots]" ;;
    trust) sh "$0" test && programs="cppcheck:cppcheck frama-c:frama-c-base cbmc:cbmc" packages="" beside="" ;;
    *) echo "setup: $kind is no environment; the first lines of tools/setup.sh name them" >&2 && exit 2 ;;
esac

# Debian packages, only as root and only on a machine that has apt. Daemons are not always in the path of a user.
missing=""
for pair in $programs; do
    PATH="$PATH:/usr/sbin" command -v "${pair%%:*}" >/dev/null 2>&1 || missing="$missing $(echo "${pair#*:}" | tr , ' ')"
done
"$python" -c 'import ensurepip, venv' 2>/dev/null || missing="$missing python3-venv"
"$python" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' || missing="$missing python3-dev"
if [ -n "$missing" ] && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    apt-get update -qq || true
    for package in $missing; do
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$package" >/dev/null 2>&1 ||
            echo "setup: not installed: $package (apt-get install $package)" >&2
    done
elif [ -n "$missing" ]; then
    echo "setup: not installed:$missing (on Debian, as root: apt-get install$missing)" >&2
fi

[ -x .venv/bin/python ] || "$python" -m venv .venv
install() {
    if [ "$kind" = lock ]; then
        .venv/bin/python -m pip --quiet --disable-pip-version-check install --upgrade --upgrade-strategy eager "$@"
    else
        .venv/bin/python -m pip --quiet --disable-pip-version-check install -c tools/constraints.txt "$@" ||
            { echo "setup: trying other versions than those of tools/constraints.txt" >&2; .venv/bin/python -m pip install --quiet "$@"; }
    fi
}
# This version of PyTorch comes as a CPU build; the newest may bring gigabytes for GPUs.
case $kind in test | lock) .venv/bin/python -c 'import torch' 2>/dev/null || beside="torch==2.13.0 $beside" ;; esac
case $kind in spark) install() { .venv/bin/python -m pip install --quiet "$@"; } ;; esac # needs an older pandas
[ -z "$packages" ] || install $packages
# Not every platform has all of what runs models, reads tables, builds the site.
for package in $beside; do
    install "$package" || echo "setup: not installed: $package (pip install $package); what needs it is skipped" >&2
done
if [ "$kind" = test ] && [ ! -d out/rp2040js ]; then # an emulator of the RP2040, for one test
    npm install --silent --prefix out/rp2040js rp2040js@1.4.1 >/dev/null 2>&1 ||
        echo "setup: not installed: rp2040js (npm install --prefix out/rp2040js rp2040js@1.4.1)" >&2
fi
if [ "$kind" = lock ]; then
    # The newest versions have no Python 3.10. A build for one platform (+cpu) is another one elsewhere.
    .venv/bin/python -m pip freeze --exclude-editable | sed '/^#/d; s/+cpu$//; s/$/ ; python_version >= "3.11"/' >tools/constraints.txt
fi
