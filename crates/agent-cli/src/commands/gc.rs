//! `gc`: removes the full outputs of calls that no session refers to.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use clap::Args;
use jiff::Timestamp;
use serde_json::json;

use crate::commands::Outcome;
use crate::commands::sessions::{SessionDirArgs, root};
use crate::error::Error;
use crate::options::Global;
use crate::ui::size::size;
use crate::ui::{clean, counted};
use session_store::{CleanupRule, KeptOutput, OutputTotal, find_unused, remove_unused};

/// List the kept outputs of calls that no session refers to; with --yes remove them.
///
/// An output that an entry of any kept session names is never removed, nor one of a session that is open. Sessions
/// outside of the folder of sessions are not read.
#[derive(Debug, Args)]
pub struct GcArgs {
    /// Remove what is listed.
    #[arg(long)]
    pub yes: bool,
    /// The age from which an output is removed.
    #[arg(long, value_name = "DAYS", default_value_t = 30)]
    pub older_than: u32,
    /// Remove younger ones too, the oldest first, while all outputs take more than this.
    #[arg(long, value_name = "MEGABYTES")]
    pub max_size: Option<u32>,
    #[command(flatten)]
    pub dir: SessionDirArgs,
}

const DAY: u64 = 24 * 60 * 60;

pub(super) fn run(args: &GcArgs, _: &Global) -> Result<Outcome, Error> {
    let root: PathBuf = root(&args.dir)?;
    let rule = CleanupRule {
        older_than: Duration::from_secs(u64::from(args.older_than) * DAY),
        most_bytes: args.max_size.map(|size| u64::from(size) * 1_000_000),
    };
    if args.yes {
        crate::cancel::begin_write()?;
    }
    let clean_up = if args.yes { remove_unused } else { find_unused };
    let cleanup = clean_up(&root, rule, SystemTime::now())?;
    let bytes: u64 = cleanup.unused.iter().map(|output| output.bytes).sum();
    let written = |output: &KeptOutput| {
        let at = Timestamp::try_from(output.modified).ok();
        at.map(|at| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
    };
    let file = |output: &KeptOutput| {
        let path = output.path.to_string_lossy();
        json!({ "path": path, "bytes": output.bytes, "modified": written(output) })
    };
    let left = |total: OutputTotal| json!({ "files": total.files, "bytes": total.bytes });
    let document = json!({
        "root": root.to_string_lossy(),
        "removed": args.yes,
        "files": cleanup.unused.iter().map(file).collect::<Vec<_>>(),
        "bytes": bytes,
        "left": {
            "referenced": left(cleanup.referenced),
            "locked": left(cleanup.locked),
            "recent": left(cleanup.recent),
        },
    });
    let lines = cleanup.unused.iter().map(|output| {
        let written = written(output).unwrap_or_default();
        let day = written.get(..10).unwrap_or_default();
        let path = clean(&output.path.display().to_string());
        format!("  {day:10}  {:>7}  {path}\n", size(output.bytes))
    });
    let mut text: String = lines.collect();
    let count = counted(cleanup.unused.len(), "output");
    let size_of_all = size(bytes);
    text.push_str(&match (cleanup.unused.is_empty(), args.yes) {
        (true, _) => "no output can be removed\n".to_owned(),
        (false, true) => format!("removed {count}, {size_of_all}\n"),
        (false, false) => format!("{count}, {size_of_all}, can be removed; --yes removes them\n"),
    });
    let left = [
        (cleanup.referenced, "sessions refer to"),
        (cleanup.locked, "belong to open sessions"),
        (cleanup.recent, "are newer"),
    ];
    let left = left.iter().filter(|(total, _)| total.files > 0);
    let left =
        left.map(|(total, why)| format!("{} ({}) that {why}", total.files, size(total.bytes)));
    let left: Vec<String> = left.collect();
    if !left.is_empty() {
        text.push_str(&format!("left: {}\n", left.join(", ")));
    }
    Ok(Outcome::done(&document, text))
}
