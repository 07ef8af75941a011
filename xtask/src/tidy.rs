//! Rules that a machine holds: layers, licences, file headers, import cycles, words, prompts, generated files. Works
//! without a network once the dependencies are fetched.

mod layers;
mod modules;
mod places;
mod source;
mod words;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::codegen;
use crate::links;
use crate::run::{Outcome, cargo, output, read, root};
use layers::{LAYERS, LICENCES, PURE};

/// The longest source file, in lines without tests.
const LONGEST: usize = 450;

/// `cargo xtask tidy [--report [PLACE]]`.
pub fn run(arguments: &[String]) -> Outcome {
    match arguments {
        [] => check(),
        [flag] if flag == "--report" => places::report(None),
        [flag, place] if flag == "--report" => places::report(Some(place)),
        _ => Err("cargo xtask tidy [--report [CRATE | docs]]".to_owned()),
    }
}

/// Checks every rule and returns all that is broken as an error.
fn check() -> Outcome {
    let mut broken = Vec::new();
    let packages = packages(Dependencies::Resolved)?;
    check_packages(&packages, &mut broken);
    check_sources(&mut broken)?;
    check_prompts(&mut broken)?;
    for place in places::places()? {
        for (found, what) in [
            (place.modules_in_cycles(), "modules in import cycles"),
            (place.hits.len(), "words to avoid"),
        ] {
            if found > 0 {
                broken.push(format!(
                    "{name} has {found} {what}; see cargo xtask tidy --report {name}",
                    name = place.name
                ));
            }
        }
    }
    links::check(&mut broken)?;
    for (path, _) in codegen::stale()? {
        broken.push(format!(
            "{} is stale; run cargo xtask codegen",
            path.display()
        ));
    }
    match broken.is_empty() {
        true => Ok(()),
        false => Err(format!("\n  {}", broken.join("\n  "))),
    }
}

/// The dependencies that cargo resolves.
#[derive(Clone, Copy, PartialEq)]
pub enum Dependencies {
    /// Their names alone, as the manifests have them.
    Named,
    /// Those of this platform, with their licences.
    Resolved,
}

/// Returns the packages that cargo knows of: the members of the workspace, and with [`Dependencies::Resolved`] what
/// they depend on. Needs no network.
pub fn packages(dependencies: Dependencies) -> Outcome<Vec<Value>> {
    let mut metadata = cargo(&["metadata", "--offline", "--format-version", "1"]);
    match dependencies {
        Dependencies::Named => metadata.arg("--no-deps"),
        Dependencies::Resolved => {
            // The crates of other platforms may be missing.
            let version = output(&mut cargo(&["-vV"]))?;
            let host = version.lines().find_map(|line| line.strip_prefix("host: "));
            let host = host.ok_or("cargo -vV names no host")?;
            metadata.args(["--filter-platform", host])
        }
    };
    let metadata: Value =
        serde_json::from_str(&output(&mut metadata)?).map_err(|error| error.to_string())?;
    Ok(metadata["packages"].as_array().cloned().unwrap_or_default())
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn check_packages(packages: &[Value], broken: &mut Vec<String>) {
    let name_of = |package: &Value| text(package, "name").to_owned();
    let licences: BTreeMap<String, String> = packages
        .iter()
        .map(|package| {
            let licence = package["license"].as_str().unwrap_or("none");
            (name_of(package), licence.to_owned())
        })
        .collect();
    let own: Vec<String> = packages
        .iter()
        .filter(|package| package["source"].is_null())
        .map(name_of)
        .collect();
    for package in packages
        .iter()
        .filter(|package| own.contains(&name_of(package)))
    {
        let name = name_of(package);
        let place = |of: &str| LAYERS.iter().position(|layer| *layer == of);
        if place(&name).is_none() {
            broken.push(format!(
                "{name} has no place in the layers; give it one in xtask/src/tidy/layers.rs"
            ));
            continue;
        }
        let pure = PURE.iter().find(|(layer, _)| *layer == name);
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let to = dependency["name"].as_str().unwrap_or_default();
            let development = dependency["kind"] == "dev";
            if own.iter().any(|own| own == to) {
                let test_only = development || name == "xtask" || to != "test-support";
                if place(to) >= place(&name) || !test_only {
                    broken.push(format!(
                        "{name} may not depend on {to}: the layers forbid it"
                    ));
                }
                continue;
            }
            if let Some((_, allowed)) = pure.filter(|_| !development)
                && !allowed.contains(&to)
            {
                broken.push(format!("{name} is pure and may not depend on {to}"));
            }
            let licence = licences.get(to).map(String::as_str);
            // Optional dependencies may be missing; cargo-deny checks them.
            if licence.is_none() && dependency["optional"] == true {
                continue;
            }
            let licence = licence.unwrap_or("none");
            let fits = licence
                .split(" OR ")
                .flat_map(|part| part.split('/'))
                .any(|part| LICENCES.contains(&part.trim_matches(['(', ')', ' '])));
            if !fits {
                broken.push(format!(
                    "{to} has the licence {licence}, which was not weighed yet"
                ));
            }
        }
    }
}

/// Checks every Rust file: a header that describes it, and no excessive length.
fn check_sources(broken: &mut Vec<String>) -> Outcome {
    for folder in ["crates", "xtask"] {
        for path in files_below(&root().join(folder), "rs")? {
            let shown = source::shown(&path);
            let text = read(&path)?;
            if !text.starts_with("//!") {
                broken.push(format!(
                    "{shown} does not open with //! and what lives there"
                ));
            }
            let lines = text.lines().count();
            if lines > LONGEST && !source::is_test(shown.as_ref()) {
                broken.push(format!(
                    "{shown} has {lines} lines; split it (at most {LONGEST})"
                ));
            }
        }
    }
    Ok(())
}

/// Checks that every prompt is used by a template.
fn check_prompts(broken: &mut Vec<String>) -> Outcome {
    let mut sources = String::new();
    for path in files_below(&root().join("crates"), "rs")? {
        sources.push_str(&read(&path)?);
    }
    for path in files_below(&root().join("prompts"), "md")? {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if !sources.contains(&format!("\"{name}\"")) {
            broken.push(format!("prompts/{name} is used nowhere"));
        }
    }
    Ok(())
}

/// Returns the files with an extension below a folder; links are not followed.
fn files_below(folder: &Path, extension: &str) -> Outcome<Vec<PathBuf>> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let kind = entry.file_type().map_err(failed)?;
        let path = entry.path();
        if kind.is_dir() && entry.file_name() != "target" && entry.file_name() != "node_modules" {
            files.extend(files_below(&path, extension)?);
        } else if kind.is_file() && path.extension().is_some_and(|own| own == extension) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_tree_is_tidy() {
        assert_eq!(super::run(&[]), Ok(()));
    }
}
