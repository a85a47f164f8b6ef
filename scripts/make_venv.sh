#!/bin/sh
# Make a virtual environment with the first usable Python of this machine, or with the one that is named.
#
#     scripts/make_venv.sh FOLDER [PYTHON]
#
# Plain sh, because it runs before anything else is there.
set -eu

folder=$1
asked=${2:-}

# Prints nothing when the interpreter can be used, else why not.
objection() {
    command -v "$1" >/dev/null 2>&1 || { echo "not found"; return; }
    "$1" - <<'CODE' 2>/dev/null || echo "does not start"
import platform
import sys

if sys.version_info < (3, 10):
    print("is Python %d.%d, and 3.10 or newer is needed" % sys.version_info[:2])
elif (platform.system(), platform.machine()) == ("Darwin", "x86_64"):
    print("is an Intel build, and PyTorch 2.6 or newer comes for Apple silicon only; install an arm64 Python")
CODE
}

found=""
reasons=""
for name in ${asked:-python3 python3.14 python3.13 python3.12 python3.11 python3.10 python}; do
    why=$(objection "$name")
    if [ -z "$why" ]; then
        found=$name
        break
    fi
    if [ "$why" != "not found" ] || [ -n "$asked" ]; then
        reasons="$reasons $name $why."
    fi
done

if [ -z "$found" ]; then
    echo "make_venv.sh: no usable Python.${reasons:- None is on the PATH.} Name one with PYTHON=/path/to/python3." >&2
    exit 1
fi

echo "Making $folder with $("$found" -c 'import sys; print(sys.executable, sys.version.split()[0])')"
rm -rf "$folder"
# A half-made folder would look finished to make.
"$found" -m venv "$folder" || { rm -rf "$folder"; exit 1; }
