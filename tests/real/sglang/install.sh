#!/bin/sh
# Makes .venv-sglang: SGLang 0.5.23 for the CPU, about 3 GB, enough to prove the adapter and no more.
# The CPU wheel of torch is taken where pip is told of it (PIP_EXTRA_INDEX_URL or PIP_FIND_LINKS),
# otherwise PyPI's, which serves as well but is large.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
venv=${1:-.venv-sglang}
python=${PYTHON:-python3.11}
stamp="$venv/.installed"

if [ -e "$stamp" ] && [ "$stamp" -nt "$here/requirements.txt" ] && [ "$stamp" -nt "$0" ]; then
    exit 0
fi
command -v "$python" >/dev/null || {
    echo "expected $python, found none; install it or set PYTHON to a Python 3.11" >&2
    exit 1
}
"$python" -m venv --clear "$venv"
pip() { "$venv/bin/python" -m pip --disable-pip-version-check --no-input "$@"; }
pip install --quiet --requirement "$here/requirements.txt"
pip install --quiet --no-deps torchvision==0.16.2 sglang==0.5.23
touch "$stamp"
