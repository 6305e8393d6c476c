//! The one step that comes next (spec 2.4).
//!
//! In: a set that nothing halts. Out: a step, or nothing where no rule fits.

use super::{
    plan::Shape,
    state::SetState,
    task::{Outcome, Stage},
};

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Skill {
    /// The agent works on the task.
    Run,
    /// The task's checks are run.
    Verify,
    /// The task is finalized, or a composite aggregated.
    Checkup,
}

impl Skill {
    /// The name in the mirror.
    pub fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Verify => "verify",
            Self::Checkup => "checkup",
        }
    }
}

/// A step of one task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The task's place in the plan.
    pub at: usize,
    /// What is done.
    pub skill: Skill,
}

/// Decides: verify what has run, run again what failed and may be retried, finalize, aggregate, else run the ready task
/// that has waited longest.
pub fn decide(set: &SetState) -> Option<Step> {
    let open: Vec<usize> = (0..set.tasks.len()).filter(|at| !set.tasks[*at].is_over()).collect();
    let leaf = |at: &usize| set.plan.tasks[*at].shape == Shape::Leaf;
    let next = |at: &usize| set.tasks[*at].next_stage;
    let step = |at: Option<usize>, skill| at.map(|at| Step { at, skill });
    let verify = || open.iter().copied().find(|at| leaf(at) && next(at) == Stage::Verify);
    let again = || {
        let retryable = |at: &usize| set.tasks[*at].pass_fail_outcome == Some(Outcome::FailRetryable);
        open.iter().copied().find(|at| leaf(at) && next(at) == Stage::Run && retryable(at))
    };
    let finalize = || open.iter().copied().find(|at| leaf(at) && next(at) == Stage::Checkup);
    let aggregate = || open.iter().copied().find(|at| !leaf(at) && set.is_ready(*at));
    let fresh = || {
        let ready = open.iter().copied().filter(|at| leaf(at) && next(at) == Stage::Run && set.is_ready(*at));
        ready.min_by_key(|at| (set.activity[*at], *at))
    };
    step(verify(), Skill::Verify)
        .or_else(|| step(again(), Skill::Run))
        .or_else(|| step(finalize(), Skill::Checkup))
        .or_else(|| step(aggregate(), Skill::Checkup))
        .or_else(|| step(fresh(), Skill::Run))
}
