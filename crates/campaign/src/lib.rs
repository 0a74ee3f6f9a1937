//! The hunt: every (program, compiler, level) unit over all cores, screened by one engine, confirmed by
//! the other readers, written down so that nothing is lost or done twice.
//!
//! The runner emits [`Event`]s and never prints; reporters consume them.
//!
//! Deliberately absent: printing, flags, and what a violation is.

mod class;
mod code;
mod confirm;
mod cost;
mod event;
mod explain;
mod family;
mod judged;
mod levels;
mod minimal;
mod plan;
mod program;
mod project;
mod run;
mod seeds;
mod steer;
mod tally;

pub use event::{Event, FoundEvent, Reporter, Silent, Totals};
pub use plan::{
    CampaignPlan, Confirm, Minimize, Mutate, NoProgram, Oracle, SeedBehaviour, SeedOrder, Seeds, Shard, Validation, VariantSet,
};
pub use project::{ProjectHunt, ProjectInput, is_of_project, run_project};
pub use run::{CampaignError, run};
