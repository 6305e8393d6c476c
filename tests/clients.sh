#!/bin/sh
# Installs the agent clients of tests/real_clients.rs from npm into DIR, then runs those tests.
set -eu
[ $# -eq 1 ] || { echo 'usage: sh tests/clients.sh DIR' >&2; exit 2; }
mkdir -p "$1"
dir=$(CDPATH='' cd -- "$1" && pwd)
here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
(cd "$dir" && npm install --no-audit --no-fund --silent @openai/codex opencode-ai @opencode-ai/plugin \
    @anthropic-ai/claude-code)
cd "$here"
NAV_LOOP_CLIENTS=$dir cargo test --test main real_clients -- --show-output
