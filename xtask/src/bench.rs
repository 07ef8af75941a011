//! Time and memory compared with a newline scan of the same file and with pi; every measurement in a fresh process.

mod child;
mod compacting;
mod import;
mod measure;
mod prose;
mod session;
mod table;
mod terminal;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::integrations;
use crate::run::{Outcome, cargo, output, release_binary, succeed, target};
use measure::{Programs, measure_size};
use table::Table;

const USAGE: &str = "\
usage: cargo xtask bench [--sizes 1k,10k,100k] [--runs N] [--only PART] [--no-pi] [--pi FOLDER] [--program FILE]

  --sizes SIZES   numbers of entries, with commas between (k and m for thousand and million)
  --runs N        processes per measurement, of which the median counts (7)
  --only PART     sessions, compact: planning and applying, import: sessions of other agents,
                  or terminal: first screens and keys
  --no-pi         measure this project alone
  --pi FOLDER     where pi is installed (default: where `cargo xtask conformance` installs it)
  --program FILE  measure this agent-cli, with --only terminal or import, instead of building one";

/// The parts of the benchmark, in the order of the report.
const PARTS: [&str; 4] = ["sessions", "compact", "import", "terminal"];

struct Options {
    sizes: Vec<usize>,
    runs: usize,
    part: Option<&'static str>,
    pi: Option<PathBuf>,
    without_pi: bool,
    program: Option<PathBuf>,
}

impl Options {
    /// Returns the program that is measured.
    fn program(&self) -> Outcome<PathBuf> {
        match &self.program {
            Some(program) => std::path::absolute(program).map_err(|error| error.to_string()),
            None => release_binary(),
        }
    }
}

/// Measures and prints one table.
pub fn run(arguments: &[String]) -> Outcome {
    let options = parse(arguments)?;
    for part in PARTS {
        if options.part.is_none_or(|only| only == part) {
            print!("{}", measure(part, &options)?.markdown());
        }
    }
    Ok(())
}

fn measure(part: &str, options: &Options) -> Outcome<Table> {
    match part {
        "compact" => compacting::measure(&build_child()?, &folder(), options.runs),
        "import" => import::measure(&options.program()?, &folder(), options.runs),
        "terminal" => {
            let file = session::session(&folder(), 100_000);
            let file = file.map_err(|error| error.to_string())?;
            let pi = find_pi(options)?;
            let pi = pi.map(|pi| manifest(&pi).with_file_name("dist/bundle/cli.js"));
            terminal::measure(&options.program()?, pi.as_deref(), &file)
        }
        _ => sessions(&build(options)?, options),
    }
}

/// Returns where generated sessions are.
fn folder() -> PathBuf {
    target().join("bench")
}

fn sessions(programs: &Programs, options: &Options) -> Outcome<Table> {
    let folder = folder();
    let mut rows = Vec::new();
    for entries in &options.sizes {
        eprintln!("{entries} entries: {} runs of each", options.runs);
        let file = session::session(&folder, *entries)
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        let measured = measure_size(programs, &file, *entries, options.runs)?;
        rows.extend(measured.iter().map(measure::Row::cells));
    }
    Ok(Table {
        title: "",
        head: &measure::HEAD,
        rows,
        notes: notes(programs, options.runs)?,
    })
}

/// Does one measurement; the hidden command `bench-child KIND FILE`.
pub fn child(arguments: &[String]) -> Outcome {
    child::run(arguments)
}

fn parse(arguments: &[String]) -> Outcome<Options> {
    let mut options = Options {
        sizes: vec![1_000, 10_000, 100_000],
        runs: 7,
        part: None,
        pi: None,
        without_pi: false,
        program: None,
    };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        match word.as_str() {
            "--sizes" => options.sizes = sizes(value()?)?,
            "--runs" => options.runs = count(value()?)?,
            "--only" => options.part = Some(part(value()?)?),
            "--pi" => options.pi = Some(PathBuf::from(value()?)),
            "--program" => options.program = Some(PathBuf::from(value()?)),
            "--no-pi" => options.without_pi = true,
            _ => return Err(format!("unknown argument {word}\n\n{USAGE}")),
        }
    }
    Ok(options)
}

fn part(name: &str) -> Outcome<&'static str> {
    let part = PARTS.into_iter().find(|part| *part == name);
    part.ok_or_else(|| format!("there is no part {name}\n\n{USAGE}"))
}

fn sizes(text: &str) -> Outcome<Vec<usize>> {
    text.split(',').map(count).collect()
}

/// Reads a number above zero, such as `500`, `10k` or `1m`.
fn count(text: &str) -> Outcome<usize> {
    let text = text.trim();
    let (digits, factor) = match text.char_indices().next_back() {
        Some((end, 'k' | 'K')) => (&text[..end], 1_000),
        Some((end, 'm' | 'M')) => (&text[..end], 1_000_000),
        _ => (text, 1),
    };
    let number = digits.parse::<usize>().ok();
    let number = number.and_then(|number| number.checked_mul(factor));
    number
        .filter(|number| *number > 0)
        .ok_or_else(|| format!("{text} is not a number of anything\n\n{USAGE}"))
}

/// Builds what is measured and finds pi.
fn build(options: &Options) -> Outcome<Programs> {
    let agent_cli = release_binary()?;
    Ok(Programs {
        agent_cli,
        child: build_child()?,
        pi: find_pi(options)?,
    })
}

/// Builds the program whose processes measure.
fn build_child() -> Outcome<PathBuf> {
    succeed(&mut cargo(&["build", "--release", "--package", "xtask"]))?;
    let name = format!("xtask{}", std::env::consts::EXE_SUFFIX);
    Ok(target().join("release").join(name))
}

fn find_pi(options: &Options) -> Outcome<Option<PathBuf>> {
    if options.without_pi {
        return Ok(None);
    }
    let missing = |what: &str| eprintln!("pi is not measured: {what}");
    let Some(folder) = options.pi.clone().or_else(integrations::installed_pi) else {
        missing("it is not installed; `cargo xtask conformance` installs it");
        return Ok(None);
    };
    if !manifest(&folder).is_file() {
        return Err(format!("there is no pi in {}", folder.display()));
    }
    if output(Command::new("node").arg("--version")).is_err() {
        missing("there is no Node here");
        return Ok(None);
    }
    // Node resolves modules from its working folder; the children have another one.
    let folder = std::fs::canonicalize(&folder);
    folder
        .map(Some)
        .map_err(|error| format!("cannot use pi: {error}"))
}

fn manifest(folder: &Path) -> PathBuf {
    folder.join("node_modules/@earendil-works/pi-coding-agent/package.json")
}

/// Returns what a reader must know about the figures.
fn notes(programs: &Programs, runs: usize) -> Outcome<Vec<String>> {
    let mut notes = vec![
        format!("Median of {runs} fresh processes, files in the page cache; {}.", machine()),
        "ms: inside the process, after modules are loaded; MB: most memory ever resident (10^6 bytes)."
            .to_owned(),
        "The scan counts newlines with memchr in blocks of 512 KiB.".to_owned(),
    ];
    let Some(pi) = &programs.pi else {
        return Ok(notes);
    };
    let manifest = std::fs::read_to_string(manifest(pi)).unwrap_or_default();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap_or_default();
    let version = manifest["version"].as_str().unwrap_or("of unknown version");
    let node = output(Command::new("node").arg("--version"))?;
    notes.push(format!(
        "pi {version} on Node {}; its appends are never synced; its prepareCompaction writes no prompts, our plan does.",
        node.trim()
    ));
    notes.push(measure::start_times(programs, runs)?);
    Ok(notes)
}

/// Returns what the measurements were taken on.
fn machine() -> String {
    let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpus
        .lines()
        .find_map(|line| line.strip_prefix("model name"));
    let model = model.map(|rest| rest.trim_start_matches([' ', '\t', ':']));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let os = std::env::consts::OS;
    match model {
        Some(model) => format!("{os}, {model}, {cores} cores"),
        None => format!("{os}, {}, {cores} cores", std::env::consts::ARCH),
    }
}

#[cfg(test)]
mod tests {
    use super::{count, parse, sizes};

    #[test]
    fn sizes_take_thousands_and_millions() {
        assert_eq!(sizes("500,10k,1M"), Ok(vec![500, 10_000, 1_000_000]));
        assert!(count("0").is_err() && count("k").is_err() && count("").is_err());
    }

    #[test]
    fn a_missing_value_and_an_unknown_word_are_said() {
        let parse = |word: &str| parse(&[word.to_owned()]).err().unwrap_or_default();
        assert_eq!(parse("--runs"), "--runs needs a value");
        assert!(parse("--fast").starts_with("unknown argument --fast"));
    }
}
