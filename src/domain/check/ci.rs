//! Which commits a CI system asks about, from its documented variables and its event file.
//!
//! In: variables, and the event as JSON. Out: base, head, and how to see that they are no forgery. What an earlier step of
//! a job may have written is compared with the checkout before it is believed.

use serde_json::Value;

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The commit, or ref, that the work is to be merged into.
    pub base: String,
    /// The commit that is judged.
    pub head: String,
    /// The branch of the work, where it is told.
    pub branch: Option<String>,
    /// The ref of this clone that `base` must be part of, where one is told.
    pub base_ref: Option<String>,
    /// Whether HEAD may be a merge commit that the CI system made of base and head.
    pub synthetic_merge: bool,
    /// Whether a merge queue made the head: where that is a merge, its first parent is the base.
    pub queued: bool,
    /// Whether the head must be what is checked out, or what that merge commit has merged.
    pub at_checkout: bool,
}

/// Why it cannot be told what is asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unclear(pub String);

/// Reads what GitHub Actions or GitLab CI asks; `None` outside both.
pub fn read(variable: &dyn Fn(&str) -> Option<String>, event: Option<&Value>) -> Result<Option<Asked>, Unclear> {
    if variable("GITHUB_ACTIONS").as_deref() == Some("true") {
        let event = event.ok_or_else(|| Unclear("GITHUB_EVENT_PATH names no readable event".to_owned()))?;
        return github(variable, event).map(Some);
    }
    if variable("GITLAB_CI").as_deref() == Some("true") {
        return gitlab(variable).map(Some);
    }
    Ok(None)
}

fn github(variable: &dyn Fn(&str) -> Option<String>, event: &Value) -> Result<Asked, Unclear> {
    let word = |pointer: &str| {
        let found = event.pointer(pointer).and_then(Value::as_str).filter(|w| !w.is_empty());
        found.map(str::to_owned).ok_or_else(|| Unclear(format!("the event has no {pointer}")))
    };
    let name = variable("GITHUB_EVENT_NAME").unwrap_or_default();
    let in_clone = |name: &str| format!("refs/remotes/origin/{}", name.trim_start_matches("refs/heads/"));
    match name.as_str() {
        "pull_request" | "pull_request_target" => {
            let base_ref = word("/pull_request/base/ref")?;
            if variable("GITHUB_BASE_REF").is_some_and(|told| !told.is_empty() && told != base_ref) {
                return Err(Unclear("GITHUB_BASE_REF and the event name two different base branches".to_owned()));
            }
            Ok(Asked {
                base: word("/pull_request/base/sha")?,
                head: word("/pull_request/head/sha")?,
                branch: word("/pull_request/head/ref").ok(),
                base_ref: Some(in_clone(&base_ref)),
                synthetic_merge: true,
                queued: false,
                at_checkout: true,
            })
        }
        "merge_group" => Ok(Asked {
            base: word("/merge_group/base_sha")?,
            head: word("/merge_group/head_sha")?,
            branch: None,
            base_ref: word("/merge_group/base_ref").ok().map(|r| in_clone(&r)),
            synthetic_merge: false,
            queued: true,
            at_checkout: true,
        }),
        "push" => {
            let (before, after) = (word("/before")?, word("/after")?);
            let pushed = variable("GITHUB_REF").filter(|r| !r.is_empty()).map_or_else(|| word("/ref"), Ok)?;
            let branch = pushed.trim_start_matches("refs/heads/").to_owned();
            let default = word("/repository/default_branch").ok();
            // Work on a branch is judged whole: what the last push added may be the smallest part of it.
            let base = match default.filter(|d| *d != branch) {
                Some(default) => in_clone(&default),
                None if before.bytes().all(|b| b == b'0') => {
                    return Err(Unclear("a new branch, and the event names no default branch".to_owned()));
                }
                None => before,
            };
            Ok(Asked {
                base,
                head: after,
                branch: Some(branch),
                base_ref: None,
                synthetic_merge: false,
                queued: false,
                at_checkout: true,
            })
        }
        other => Err(Unclear(format!("the event {other:?} names no range; give --base and --head"))),
    }
}

fn gitlab(variable: &dyn Fn(&str) -> Option<String>) -> Result<Asked, Unclear> {
    let set = |name: &str| variable(name).filter(|v| !v.is_empty());
    let commit = || set("CI_COMMIT_SHA").ok_or_else(|| Unclear("CI_COMMIT_SHA is not set".to_owned()));
    if set("CI_MERGE_REQUEST_IID").is_none() {
        let branch = set("CI_COMMIT_BRANCH");
        let before = set("CI_COMMIT_BEFORE_SHA").filter(|b| !b.bytes().all(|c| c == b'0'));
        let default = set("CI_DEFAULT_BRANCH").filter(|d| branch.as_ref() != Some(d));
        let base = default.map(|b| format!("refs/remotes/origin/{b}")).or(before);
        let base = base.ok_or_else(|| Unclear("CI_DEFAULT_BRANCH is not set".to_owned()))?;
        return Ok(Asked {
            base,
            head: commit()?,
            branch,
            base_ref: None,
            synthetic_merge: false,
            queued: false,
            at_checkout: true,
        });
    }
    let target = set("CI_MERGE_REQUEST_TARGET_BRANCH_NAME").map(|b| format!("refs/remotes/origin/{b}"));
    let base = set("CI_MERGE_REQUEST_TARGET_BRANCH_SHA").or_else(|| set("CI_MERGE_REQUEST_DIFF_BASE_SHA"));
    Ok(Asked {
        base: base
            .or_else(|| target.clone())
            .ok_or_else(|| Unclear("no variable names the target branch".to_owned()))?,
        head: set("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA").map_or_else(commit, Ok)?,
        branch: set("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME"),
        base_ref: target,
        synthetic_merge: set("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA").is_some(),
        queued: false,
        at_checkout: true,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(variables: &[(&str, &str)], event: Option<Value>) -> Result<Option<Asked>, Unclear> {
        let variable = |name: &str| variables.iter().find(|(k, _)| *k == name).map(|(_, v)| (*v).to_owned());
        read(&variable, event.as_ref())
    }

    #[test]
    fn each_event_and_pipeline_names_its_range() {
        let github = |name: &'static str| vec![("GITHUB_ACTIONS", "true"), ("GITHUB_EVENT_NAME", name)];
        let pull = json!({"pull_request": {"base": {"sha": "b", "ref": "main"}, "head": {"sha": "h", "ref": "topic"}}});
        let found = asked(&github("pull_request"), Some(pull.clone())).unwrap().unwrap();
        assert_eq!((found.base.as_str(), found.head.as_str(), found.synthetic_merge), ("b", "h", true));
        assert_eq!(found.base_ref.as_deref(), Some("refs/remotes/origin/main"));
        let mut other = github("pull_request");
        other.push(("GITHUB_BASE_REF", "elsewhere"));
        assert!(asked(&other, Some(pull)).unwrap_err().0.contains("two different base branches"));
        let queue = json!({"merge_group": {"base_sha": "b", "head_sha": "h", "base_ref": "refs/heads/main"}});
        assert_eq!(asked(&github("merge_group"), Some(queue)).unwrap().unwrap().head, "h");
        let zeros = "0".repeat(40);
        let push =
            json!({"before": zeros, "after": "a", "ref": "refs/heads/x", "repository": {"default_branch": "main"}});
        assert_eq!(asked(&github("push"), Some(push)).unwrap().unwrap().base, "refs/remotes/origin/main");
        let grown =
            json!({"before": "b", "after": "a", "ref": "refs/heads/x", "repository": {"default_branch": "main"}});
        assert_eq!(
            asked(&github("push"), Some(grown)).unwrap().unwrap().base,
            "refs/remotes/origin/main",
            "the whole branch"
        );
        let onto =
            json!({"before": "b", "after": "a", "ref": "refs/heads/main", "repository": {"default_branch": "main"}});
        assert_eq!(asked(&github("push"), Some(onto)).unwrap().unwrap().base, "b");
        assert!(asked(&github("push"), Some(json!({"before": zeros, "after": "a", "ref": "refs/heads/x"}))).is_err());
        assert!(asked(&github("schedule"), Some(json!({}))).unwrap_err().0.contains("names no range"));
        assert!(asked(&github("push"), None).is_err());
        let gitlab = [
            ("GITLAB_CI", "true"),
            ("CI_COMMIT_SHA", "c"),
            ("CI_MERGE_REQUEST_IID", "1"),
            ("CI_MERGE_REQUEST_DIFF_BASE_SHA", "d"),
            ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main"),
        ];
        let detached = asked(&gitlab, None).unwrap().unwrap();
        assert_eq!((detached.base.as_str(), detached.head.as_str(), detached.synthetic_merge), ("d", "c", false));
        let mut merged = gitlab.to_vec();
        merged.extend([("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", "s"), ("CI_MERGE_REQUEST_TARGET_BRANCH_SHA", "t")]);
        let merged = asked(&merged, None).unwrap().unwrap();
        assert_eq!((merged.base.as_str(), merged.head.as_str(), merged.synthetic_merge), ("t", "s", true));
        let branch = [("GITLAB_CI", "true"), ("CI_COMMIT_SHA", "c"), ("CI_DEFAULT_BRANCH", "main")];
        assert_eq!(asked(&branch, None).unwrap().unwrap().base, "refs/remotes/origin/main");
        assert_eq!(asked(&[], None), Ok(None));
    }
}
