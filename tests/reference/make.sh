#!/bin/sh
# Remakes the tiny models and recorded answers in tests/data, in a virtual environment with torch.
# Usage: tests/reference/make.sh [FOLDER]     FOLDER keeps the environment; default: a temporary one
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-}
if [ -z "$folder" ]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
fi
[ -x "$folder/bin/python3" ] || python3 -m venv "$folder"
"$folder/bin/pip" install --quiet --requirement "$here/requirements.txt"
export HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false
"$folder/bin/python3" "$here/make_tiny_llama.py"
"$folder/bin/python3" "$here/test_reference.py"
"$folder/bin/python3" "$here/test_reference_with_torch.py"
