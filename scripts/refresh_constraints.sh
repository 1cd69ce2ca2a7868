#!/bin/sh
# Rewrites constraints.txt: what a fresh environment gets when nothing but pyproject.toml (and torch) is fixed.
#
#   scripts/refresh_constraints.sh PYTHON [PIP ARGUMENTS...]
#
# TORCH chooses the version of torch. Local suffixes (2.13.0+cpu) and the packages that only one platform's build of torch
# brings along are left out, so that one file serves every machine.
set -eu

cd "$(dirname "$0")/.."
python=$1
shift
torch=${TORCH:-$(sed -n 's/^torch==//p' constraints.txt)}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$python" -m venv "$scratch/venv"
"$scratch/venv/bin/python" -m pip install "$@" "torch==$torch" -e ".[train,render,report,pettingzoo,play,dev]"
{
    sed '/^[^#]/,$d' constraints.txt # the comment at the top
    "$scratch/venv/bin/python" -m pip freeze --all --exclude-editable |
        grep -vE '^(pip|wheel|nvidia-|cuda-|triton)' | sed 's/ @ .*//; s/+[^ ]*$//'
} >"$scratch/constraints.txt"
cp "$scratch/constraints.txt" constraints.txt
