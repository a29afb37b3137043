#!/usr/bin/env bash
# One command for all tests: sets the machine up, checks the layout of the code, and builds and tests with g++ (all tests),
# and with clang++ and sanitizers what runs the library: through Meson for data races, through CMake for memory and undefined
# behaviour. Goes on after a failure, and ends with what passed and failed in all.
# The builds stay in $PENSTOCK_BUILD (build/tests), so that a second run is faster.
set -uo pipefail
cd "$(dirname "$0")/.."
root=$PWD
build=${PENSTOCK_BUILD:-$root/build/tests}
jobs=$(nproc)
at_once=$((jobs + 1)) # tests: some of them mostly wait
passed=0 failed=0

tests/setup.sh || exit 1
. "${PENSTOCK_TOOLS:-$HOME/.cache/penstock-tools}/env"
mkdir -p "$build"
export LC_ALL=C.UTF-8 MESON_TESTTHREADS=$at_once
export ASAN_OPTIONS=detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1

# step NAME COMMAND...: counts as one test.
step() {
  local name=$1 from=$SECONDS
  shift
  printf '\n== %s\n' "$name"
  if "$@"; then
    passed=$((passed + 1))
    printf '%s: passed, %d s\n' "$name" $((SECONDS - from))
  else
    failed=$((failed + 1))
    printf '%s: FAILED, %d s\n' "$name" $((SECONDS - from))
    return 1
  fi
}

# count FILE: adds the tests of a JUnit file. One that was skipped or not run has failed, and so has a file without tests.
count() {
  local counts
  counts=$(python3 - "$1" <<'END'
import re, sys, xml.etree.ElementTree as xml
try:
    with open(sys.argv[1], encoding="utf-8", errors="replace") as file:  # what a test printed is in it: Meson 1.0 leaves
        text = re.sub("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "", file.read())  # in what XML forbids
    cases = list(xml.fromstring(text.encode()).iter("testcase"))
except (OSError, xml.ParseError) as fault:
    print(f"no results: {fault}", file=sys.stderr)
    cases = []
bad = [c for c in cases if c.get("status", "run") != "run" or any(c.find(f) is not None for f in ("failure", "error", "skipped"))]
for c in bad:
    print("did not pass:", c.get("name"), file=sys.stderr)
print(len(cases) - len(bad), max(len(bad), 0 if cases else 1))
END
  ) || counts="0 1"
  passed=$((passed + ${counts% *}))
  failed=$((failed + ${counts#* }))
}

cpp_files() { find include tests examples benchmarks \( -name '*.?pp' -o -name '*.cu' \) -type f 2>/dev/null; }
layout() { cpp_files | xargs clang-format-16 --dry-run -Werror; }
# build_with_cmake NAME TARGET: of the choices in .ci/NAME.cmake.
build_with_cmake() {
  cmake -G Ninja -C ".ci/$1.cmake" -S . -B "$build/$1" && cmake --build "$build/$1" --target "$2" --parallel "$jobs"
}
build_with_meson() {
  local again=()
  [ -d "$build/meson" ] && again=(--wipe)
  CXX=clang++-14 meson setup "${again[@]}" "$build/meson" . -Ddebug=false -Doptimization=1 -Dhttp=enabled -Dcuda=disabled -Dseparate=true \
    -Db_sanitize=thread -Db_lundef=false -Dstress=1,300 &&
    meson compile -C "$build/meson" -j "$jobs"
}
ctest_in() {
  local folder=$build/$1
  shift
  rm -f "$folder/results.xml"
  ctest --test-dir "$folder" --parallel "$at_once" --output-on-failure --output-junit "$folder/results.xml" "$@"
  count "$folder/results.xml"
}
meson_test() {
  local results=$build/meson/meson-logs/testlog.junit.xml
  rm -f "$results"
  meson test -C "$build/meson" --no-rebuild --print-errorlogs "$@"
  count "$results"
}

step "layout" layout
step "build with CMake and g++" build_with_cmake gcc all && ctest_in gcc
step "build with Meson, clang++ and the thread sanitizer" build_with_meson &&
  meson_test --suite runs --suite links
step "build with the other sanitizers" build_with_cmake asan runs && ctest_in asan -L runs

printf '\nall of it took %d s\n%d passed, %d failed\n' "$SECONDS" "$passed" "$failed"
[ "$failed" -eq 0 ]
