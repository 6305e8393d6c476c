//! A stand-in for `gh`, with the exit codes, messages and JSON shapes of the real one.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

use super::{Said, TestRepo};

const GH: &str = r#"#!/bin/sh
store=$(dirname "$0")/store
printf '%s\n' "$*" >>"$store/calls"
case $(cat "$store/mode") in
offline)
    printf 'error connecting to api.github.com\ncheck your internet connection or https://githubstatus.com\n' >&2
    exit 1
    ;;
logged-out)
    printf 'To get started with GitHub CLI, please run:  gh auth login\nAlternatively, populate the GH_TOKEN environment variable with a GitHub API authentication token.\n' >&2
    exit 4
    ;;
silent) exec sleep 60 ;;
garbage) echo 'not json'; exit 0 ;;
esac
[ "$1" = issue ] || { echo "unknown command \"$1\" for \"gh\"" >&2; exit 1; }
act=$2
shift 2
number=
case ${1-} in [0-9]*) number=$1; shift ;; esac
limit=30
wanted='"state":"OPEN"'
while [ $# -gt 0 ]; do
    case $1 in
    --json)
        for field in $(echo "$2" | tr ',' ' '); do
            case $field in
            number | state | title | url | body | labels | createdAt | updatedAt) ;;
            *) printf 'Unknown JSON field: "%s"\n' "$field" >&2; exit 1 ;;
            esac
        done
        ;;
    --limit) limit=$2 ;;
    --state) [ "$2" != all ] || wanted='"state"' ;;
    --repo | --reason | --search | --label | --title | --body-file) ;;
    *) echo "unknown flag: $1" >&2; exit 1 ;;
    esac
    [ "$1" != --body-file ] || cat "$2" >"$store/body"
    [ "$1" != --title ] || printf '%s' "$2" >"$store/title"
    shift 2
done
file=$store/$number.json
if [ -n "$number" ] && [ ! -f "$file" ]; then
    echo "GraphQL: Could not resolve to an issue or pull request with the number of $number. (repository.issue)" >&2
    exit 1
fi
case $act in
view) cat "$file" ;;
close)
    if grep -q '"state":"CLOSED"' "$file"; then
        echo "! Issue #$number is already closed" >&2
    else
        sed -i.old 's/"state":"OPEN"/"state":"CLOSED"/' "$file"
        echo "✓ Closed issue #$number" >&2
    fi
    ;;
list)
    printf '['
    cat $(ls "$store"/*.json 2>/dev/null | awk -F/ '{ print $NF + 0, $0 }' | sort -n | cut -d' ' -f2-) /dev/null |
        grep "$wanted" | head -n "$limit" | paste -sd, - | tr -d '\n'
    printf ']\n'
    ;;
create)
    number=$(($(ls "$store" | grep -c '\.json$') + 1))
    escaped=$(sed 's/\\/\\\\/g; s/"/\\"/g' "$store/body" | awk '{ printf "%s\\n", $0 }')
    printf '{"number":%d,"state":"OPEN","title":"%s","url":"https://github.com/me/app/issues/%d","body":"%s","labels":[]}\n' \
        "$number" "$(cat "$store/title")" "$number" "$escaped" >"$store/$number.json"
    echo "https://github.com/me/app/issues/$number"
    ;;
esac
"#;

pub struct Tracker<'a> {
    repo: &'a TestRepo,
    dir: PathBuf,
}

impl<'a> Tracker<'a> {
    pub fn new(repo: &'a TestRepo) -> Self {
        let dir = repo.root.path().join("tracker");
        fs::create_dir_all(dir.join("store")).unwrap();
        fs::write(dir.join("gh"), GH).unwrap();
        fs::set_permissions(dir.join("gh"), fs::Permissions::from_mode(0o755)).unwrap();
        let tracker = Self { repo, dir };
        tracker.mode("online");
        tracker
    }

    pub fn mode(&self, mode: &str) {
        fs::write(self.dir.join("store/mode"), mode).unwrap();
    }

    pub fn issue(&self, number: u64, title: &str, more: &serde_json::Value) {
        let mut issue = serde_json::json!({
            "number": number, "state": "OPEN", "title": title, "url": format!("https://github.com/me/app/issues/{number}"),
            "body": "", "labels": [],
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            issue[key] = value.clone();
        }
        fs::write(self.dir.join(format!("store/{number}.json")), format!("{issue}\n")).unwrap();
    }

    /// Every call so far, one line each.
    pub fn calls(&self) -> String {
        fs::read_to_string(self.dir.join("store/calls")).unwrap_or_default()
    }

    /// Runs `git nav-loop` with this `gh` first on PATH.
    pub fn nav(&self, args: &[&str]) -> Said {
        let path = std::env::var_os("PATH").unwrap();
        let paths = [self.dir.clone(), super::programs()].into_iter().chain(std::env::split_paths(&path));
        let path = std::env::join_paths(paths).unwrap();
        self.repo.nav_env(&[("PATH", path.to_str().unwrap())], args)
    }
}
