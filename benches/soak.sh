#!/usr/bin/env bash
# 200 random kills of writers: afterwards `git fsck` is clean, every acknowledged event is in the journal after the
# next run, and no lock stands in git's way.  usage: benches/soak.sh [KILLS] [DIR-WITH-PROGRAMS]
set -euo pipefail
kills=${1:-200}
programs=$(cd "${2:-$(dirname "$0")/../target/release}" && pwd)
export PATH=$programs:$PATH HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1 LC_ALL=C
unset CLAUDECODE NAV_LOOP NAV_LOOP_HOOK GIT_DIR
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
git init -q -b main "$dir/repo"
cd "$dir/repo"
git config user.name x
git config user.email x@y
git commit -q --allow-empty -m first
git pack-refs --all
git-nav-loop install >/dev/null
git switch -q -c feature
git-nav-loop start soak >/dev/null
: >"$dir/acknowledged"

writer() {
    local n=0
    while :; do
        n=$((n + 1))
        git-nav-loop signal exit --reason "$1-$n" >/dev/null 2>&1 && echo "$1-$n" >>"$dir/acknowledged"
    done
}

for ((kill = 1; kill <= kills; kill++)); do
    set -m
    writer "$kill" &
    group=$!
    set +m
    sleep "0.0$((RANDOM % 90 + 10))"
    kill -9 -- "-$group" 2>/dev/null || :
    wait "$group" 2>/dev/null || :
    git commit -q --allow-empty -m "$kill"
    git branch -q "b$kill" && git branch -q -D "b$kill"
done
git-nav-loop status >/dev/null
git fsck --strict >/dev/null
git notes --ref=nav-loop show "$(git rev-parse main)" >"$dir/journal"
lost=0
while read -r reason; do
    grep -q "\"reason\":\"$reason\"" "$dir/journal" || { echo "lost: $reason"; lost=$((lost + 1)); }
done <"$dir/acknowledged"
waiting=$(find .git/nav-loop/spool -name '*.json' | wc -l)
echo "$kills kills, $(wc -l <"$dir/acknowledged") acknowledged, $lost lost, $waiting waiting, fsck clean"
[ "$lost" -eq 0 ] && [ "$waiting" -eq 0 ]
