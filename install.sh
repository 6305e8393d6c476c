#!/bin/sh
# Builds git-nav-loop and its two hook programs, puts them under a prefix, and with --demo shows one whole loop.
# Touches nothing but the prefix and, for the demo, one new folder in the temporary directory.
set -eu

usage() {
    cat <<'TEXT'
usage: ./install.sh [--prefix DIR] [--from DIR] [--demo] [--agent AGENT]
       ./install.sh --uninstall [--prefix DIR]

  --prefix DIR  put the programs into DIR/bin (default: ~/.local)
  --from DIR    take built programs from DIR instead of building them
  --demo        then run one whole loop in a scratch repository
  --agent AGENT who works in the demo: scripted (the default), or mini-swe, which
                installs mini-swe-agent from PyPI into the scratch folder
  --uninstall   take the programs out again
TEXT
}

say() { printf '%s\n' "$*"; }
fail() { printf 'install.sh: %s\n' "$*" >&2; exit 1; }

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
prefix=${HOME:-}/.local
from=
demo=no
agent=scripted
uninstall=no
programs='git-nav-loop nav-loop-post-commit nav-loop-post-checkout'

while [ $# -gt 0 ]; do
    case $1 in
        --prefix) [ $# -ge 2 ] || fail '--prefix needs a folder'; prefix=$2; shift ;;
        --prefix=*) prefix=${1#--prefix=} ;;
        --from) [ $# -ge 2 ] || fail '--from needs a folder'; from=$2; shift ;;
        --from=*) from=${1#--from=} ;;
        --demo) demo=yes ;;
        --agent) [ $# -ge 2 ] || fail '--agent needs a name'; agent=$2; shift ;;
        --agent=*) agent=${1#--agent=} ;;
        --uninstall) uninstall=yes ;;
        -h | --help) usage; exit 0 ;;
        *) usage >&2; exit 2 ;;
    esac
    shift
done

case $agent in
    scripted | mini-swe) ;;
    *) fail "--agent $agent is not known: scripted or mini-swe" ;;
esac
case $prefix in
    '' | /.local) fail 'HOME is not set; name a folder with --prefix' ;;
    /*) ;;
    *) prefix=$(pwd)/$prefix ;;
esac
bin=$prefix/bin

need() { command -v "$1" >/dev/null 2>&1 || fail "$1 is needed and not on PATH: $2"; }

if [ "$uninstall" = yes ]; then
    for program in $programs; do
        if [ -e "$bin/$program" ]; then
            rm -f "$bin/$program"
            say "removed $bin/$program"
        fi
    done
    rm -f "$prefix"/share/man/man1/git-nav-loop.1 "$prefix"/share/man/man1/git-nav-loop-*.1
    say 'Hooks in repositories are taken out there, before this: git nav-loop uninstall'
    exit 0
fi

need git 'install git 2.39 or newer'
if [ -z "$from" ]; then
    need cargo 'install Rust, e.g. with rustup'
    need cc 'install a C compiler'
    say 'Building (a few minutes the first time) ...'
    (cd "$here" && cargo build --release --locked --bins)
    from=${CARGO_TARGET_DIR:-$here/target}/release
fi

mkdir -p "$bin"
for program in $programs; do
    [ -f "$from/$program" ] || fail "$from/$program is not there: build it with cargo build --release"
    cp "$from/$program" "$bin/.$program.new"
    chmod 755 "$bin/.$program.new"
    mv -f "$bin/.$program.new" "$bin/$program"
    say "installed $bin/$program"
done
man=$prefix/share/man/man1
"$bin/git-nav-loop" man --dir "$man" >/dev/null
say "installed the man pages in $man"
case :$PATH: in
    *:"$bin":*) ;;
    *) say "Put it on your PATH: export PATH=\"$bin:\$PATH\"" ;;
esac
if [ "$demo" = no ]; then
    say 'Next, in a repository of yours: git nav-loop install'
    exit 0
fi

# --- The demo: an agent that claims too early, real commits, a real test command. ----------------------------------

PATH=$bin:$PATH
export PATH
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
scratch=$(mktemp -d "${TMPDIR:-/tmp}/nav-loop-demo.XXXXXX")
repo=$scratch/project
step() { printf '\n$ %s\n' "$*"; "$@"; }

if [ "$agent" = mini-swe ]; then
    need python3 'install Python 3.10 or newer'
    say 'Installing mini-swe-agent from PyPI ...'
    python3 -m venv "$scratch/venv" || fail 'python3 cannot make a virtual environment'
    "$scratch/venv/bin/pip" install -q --disable-pip-version-check mini-swe-agent ||
        fail 'mini-swe-agent cannot be installed: is PyPI reached? The demo without it: ./install.sh --demo'
fi

git init -q "$repo"
cd "$repo"
git config user.name 'Demo Agent'
git config user.email 'agent@example.com'
git config commit.gpgSign false
git config core.hooksPath "$repo/.git/hooks"
printf '# Numbers\n' >README.md
git add README.md
git commit -q -m 'a project'
git switch -q -c is-prime
step git nav-loop install
step git nav-loop start --test 'sh test.sh' 'add is_prime with tests'

# What the agent does in its second and third iteration. Its first word is that it is done.
cat >"$scratch/work-2.sh" <<'WORK'
printf 'is_prime() {\n    [ $(($1 %% 2)) -eq 1 ]\n}\n' >is_prime.sh
{
    echo '. ./is_prime.sh'
    echo 'for n in 2 3 13; do is_prime $n || { echo "not ok 1 - $n is prime"; exit 1; }; done'
    echo 'is_prime 9 && { echo "not ok 2 - 9 is not prime"; exit 1; }'
    echo 'echo "ok - all"'
} >test.sh
git add is_prime.sh test.sh
git commit -q -m 'add is_prime and its tests'
git nav-loop test || :
WORK
cat >"$scratch/work-3.sh" <<'WORK'
printf 'is_prime() {\n    [ "$1" -ge 2 ] || return 1\n    d=2\n    while [ $((d * d)) -le "$1" ]; do\n        [ $(($1 %% d)) -ne 0 ] || return 1\n        d=$((d + 1))\n    done\n}\n' >is_prime.sh
printf '# Numbers\n\nis_prime N answers by its exit status.\n' >README.md
git add is_prime.sh README.md
git commit -q -m 'is_prime: try every divisor, and say so in the README'
WORK

# Any program that reads a prompt and works.
cat >"$scratch/scripted.sh" <<'AGENT'
prompt=$(cat)
claim() { printf '```pilot-signal\n{"v":2,"type":"exit","success":true,"reason":"%s"}\n```\n' "$1"; }
case $prompt in
*'Iteration: 1/'* | *'迭代：1/'*)
    echo 'agent: this looks easy, I am done.'
    claim 'I am done'
    ;;
*'Iteration: 2/'* | *'迭代：2/'*)
    echo 'agent: writing is_prime.sh and its tests.'
    sh "$scratch/work-2.sh"
    ;;
*)
    echo 'agent: two is prime as well; trying every divisor.'
    sh "$scratch/work-3.sh"
    claim 'is_prime is there, tested and documented'
    ;;
esac
AGENT

# The real mini-swe-agent. Its deterministic model says what the configuration lists, so no key is needed; the trajectory
# goes to stdout, where `git nav-loop run` reads it.
cat >"$scratch/mini-swe.sh" <<'AGENT'
prompt=$(cat)
claim() { printf '{\\"v\\":2,\\"type\\":\\"exit\\",\\"success\\":true,\\"reason\\":\\"%s\\"}' "$1"; }
turn() { printf '    - {role: assistant, content: "%s", extra: {cost: 0.0, actions: [{command: "%s"}]}}\n' "$1" "$2"; }
submit() { turn "$1" "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; echo '$2'"; }
turns() {
    case $prompt in
    *'Iteration: 1/'* | *'迭代：1/'*)
        submit 'this looks easy, I am done.' "$(claim 'I am done')"
        ;;
    *'Iteration: 2/'* | *'迭代：2/'*)
        turn 'writing is_prime.sh and its tests.' "sh $scratch/work-2.sh"
        submit 'a test fails: more to do.' 'a test fails'
        ;;
    *)
        turn 'two is prime as well; trying every divisor.' "sh $scratch/work-3.sh"
        submit 'done.' "$(claim 'is_prime is there, tested and documented')"
        ;;
    esac
}
{
    printf '%s\n' 'agent:' '  system_template: "You work in a shell."' '  instance_template: "{{task}}"' '  mode: yolo' \
        '  confirm_exit: false' '  step_limit: 10' '  cost_limit: 0' 'environment:' '  environment_class: local' \
        '  timeout: 60' 'model:' '  model_class: deterministic' '  model_name: deterministic' '  cost_per_call: 0.0' \
        '  outputs:'
    turns
} >"$scratch/mini.yaml"
rm -f "$scratch/trajectory.json"
"$scratch/venv/bin/mini" -c "$scratch/mini.yaml" -t "$prompt" -y --exit-immediately -o "$scratch/trajectory.json" \
    </dev/null >&2
cat "$scratch/trajectory.json"
AGENT
export scratch MSWEA_CONFIGURED=true MSWEA_SILENT_STARTUP=1 MSWEA_GLOBAL_CONFIG_DIR="$scratch/mini-config"
reader=plain
[ "$agent" = scripted ] || reader=$agent
printf '\n$ git nav-loop run --agent %s -- sh %s.sh\n' "$reader" "$agent"
git nav-loop run --agent "$reader" -- sh "$scratch/$agent.sh" || fail "the demo did not reach its end; look at $repo"
step git nav-loop log
printf '\n$ git nav-loop gate\n'
git nav-loop gate && say '(exit code 0)'
printf '\n'
say "programs:           $bin"
say "scratch repository: $repo"
say "its journal:        git -C $repo log --notes=nav-loop"
say "to remove it all:   rm -rf $scratch && $here/install.sh --uninstall --prefix $prefix"
say 'in your repository: git nav-loop install && git nav-loop run --task "what is to be done" -- claude -p'
