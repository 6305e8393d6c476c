#!/bin/sh
# Measures every speed claim against its other side in one run and keeps the table in BENCHMARKS.md.
set -eu
cd "$(dirname "$0")/.."
exec cargo bench --bench compare -- --write "$PWD/BENCHMARKS.md" "$@"
