//! `cargo xtask dist [FOLDER]`: what a package installs next to the program: man pages, and completions for shells.

use std::path::{Path, PathBuf};

use agent_cli::args::Cli;
use clap::{CommandFactory, ValueEnum};
use clap_complete::Shell;

use crate::run::{Outcome, target};

/// The program's name.
const NAME: &str = "agent-cli";

/// Writes `man/*.1`, one page for each command, and `completions/*`.
pub fn run(arguments: &[String]) -> Outcome {
    let folder = match arguments {
        [] => target().join("dist"),
        [folder] => PathBuf::from(folder),
        _ => return Err("cargo xtask dist [FOLDER]".to_owned()),
    };
    write(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    println!("wrote {}", folder.display());
    Ok(())
}

fn write(folder: &Path) -> std::io::Result<()> {
    let [man, completions] = ["man", "completions"].map(|name| folder.join(name));
    std::fs::create_dir_all(&man)?;
    std::fs::create_dir_all(&completions)?;
    clap_mangen::generate_to(Cli::command().name(NAME), man)?;
    for shell in Shell::value_variants() {
        clap_complete::generate_to(*shell, &mut Cli::command(), NAME, &completions)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use agent_cli::args::Cli;
    use clap::CommandFactory;

    #[test]
    fn every_command_has_a_page_and_every_shell_its_completions() {
        let folder = std::env::temp_dir().join(format!("dist-{}", std::process::id()));
        super::write(&folder).unwrap();
        let page = |name: &str| std::fs::read_to_string(folder.join("man").join(name)).unwrap();
        let main = page("agent-cli.1");
        for command in Cli::command()
            .get_subcommands()
            .filter(|command| !command.is_hide_set())
        {
            let name = format!("agent-cli-{}.1", command.get_name());
            assert!(page(&name).contains(".SH SYNOPSIS"), "{name}");
            let name = name.trim_end_matches(".1").replace('-', "\\-");
            assert!(main.contains(&name), "{name} in {main}");
        }
        let scripts = std::fs::read_dir(folder.join("completions")).unwrap();
        assert_eq!(scripts.count(), 5);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
