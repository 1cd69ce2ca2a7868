#!/bin/sh
# Runs the tests of the integrations whose libraries are in none of the project's own environments: the pins of these would
# pull the tested set apart. Each gets an environment of its own, made when it is not there.
#
#   scripts/test_integrations.sh PYTHON [PIP ARGUMENTS...]
#
# ONLY=ray or ONLY=integrations runs one of the two.
set -eu

cd "$(dirname "$0")/.."
python=$1
shift
torch=${TORCH:-$(sed -n 's/^torch==//p' constraints.txt)}

# environment NAME MODULES REQUIREMENTS...: makes .venv-NAME, and fails where a module can't be imported, since tests of what
# is missing would only be skipped.
environment() {
    bin=.venv-$1/bin modules=$2
    shift 2
    [ -x "$bin/python" ] || "$python" -m venv "${bin%/bin}"
    "$bin/python" -m pip install $pip_args "torch==$torch" "$@"
    "$bin/python" -c "import $modules"
}

pip_args=$*
if [ "${ONLY:-ray}" = ray ]; then
    environment ray ray.rllib -e ".[ray,train]" pytest
    .venv-ray/bin/python -m pytest tests/test_rllib.py tests/test_using_it_from.py
fi
if [ "${ONLY:-integrations}" = integrations ]; then
    environment integrations torchrl,tianshou,jax -e ".[torchrl,tianshou]" jax pytest
    .venv-integrations/bin/python -m pytest -m "not slow" tests/test_tianshou.py tests/test_wrappers.py tests/test_examples.py \
        tests/test_using_it_from.py
fi
