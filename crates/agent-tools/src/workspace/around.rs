//! Decides if the folder that a session names is used without asking the user: to read files in it, or to work in it.
//!
//! **Invariant.** The header of a session file is untrusted unless our own program keeps the file. An untrusted header
//! can open only the project that the user is in for reading, and only the folder that the user is in for work. Folders
//! that the user or the system protects are never read.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

/// Folders of the system, with all below them.
const OF_THE_SYSTEM: [&str; 17] = [
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/lib",
    "/lib64",
    "/proc",
    "/root",
    "/run",
    "/sbin",
    "/sys",
    "/usr",
    "/var",
    "/Library",
    "/System",
    "/private/etc",
    "/private/var",
];

/// The folders around a session; all paths without links.
#[derive(Debug, Clone, Default)]
pub struct Around {
    /// The folder that the program works in.
    pub here: Option<PathBuf>,
    /// The user's home.
    pub home: Option<PathBuf>,
    /// The system's folder of temporary files.
    pub temp: PathBuf,
    /// The session's file lies among those that our own program keeps.
    pub is_ours: bool,
}

impl Around {
    /// Returns why tools do not work in `folder`, which has no links in it; `None` where they do.
    pub fn why_not_work_in(&self, folder: &Path) -> Option<&'static str> {
        match self.is_ours || self.here.as_deref() == Some(folder) {
            true => None,
            false => Some("is not the one that you are in"),
        }
    }

    /// Returns why the files of `folder`, which has no links in it, are not read; `None` where they are.
    pub fn why_not(&self, folder: &Path) -> Option<&'static str> {
        let home = self.home.as_deref();
        let here = self.here.as_deref();
        if folder.parent().is_none() || home.is_some_and(|home| home.starts_with(folder)) {
            return Some("holds more than a project");
        }
        let below_home = home.is_some_and(|home| folder.starts_with(home));
        let is_open =
            below_home || (self.temp.parent().is_some() && folder.starts_with(&self.temp));
        if !is_open && OF_THE_SYSTEM.iter().any(|path| folder.starts_with(path)) {
            return Some("belongs to the system");
        }
        let hides = |above: Option<&Path>| {
            let rest = above.and_then(|above| folder.strip_prefix(above).ok());
            rest.is_some_and(is_hidden)
        };
        if hides(home) || hides(here) {
            return Some("is hidden by a name that begins with a dot");
        }
        if home.is_none() && here != Some(folder) {
            return Some("may hold more than a project, because no home folder is known");
        }
        let is_near = here.is_some_and(|here| here.starts_with(folder) || folder.starts_with(here));
        match is_near || self.is_ours {
            true => None,
            false => Some("is neither above nor below the one that you are in"),
        }
    }
}

/// Returns true if a name in the path begins with a dot.
fn is_hidden(path: &Path) -> bool {
    let mut names = path.components();
    names.any(|name| match name {
        Component::Normal(name) => begins_with_dot(name),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => {
            false
        }
    })
}

fn begins_with_dot(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

#[cfg(all(test, unix))]
mod tests {
    use std::path::Path;

    use super::Around;

    /// Returns true if files in `folder` are read for a user in `here`.
    fn is_read(around: &Around, folder: &str) -> bool {
        around.why_not(Path::new(folder)).is_none()
    }

    fn user(here: &str) -> Around {
        Around {
            here: Some(here.into()),
            home: Some("/home/u".into()),
            temp: "/tmp".into(),
            is_ours: false,
        }
    }

    #[test]
    fn a_stranger_names_a_folder_around_the_user_or_none() {
        let around = user("/home/u/work/project");
        for folder in ["project", "project/src", ""] {
            assert!(
                is_read(&around, &format!("/home/u/work/{folder}")),
                "{folder}"
            );
        }
        for folder in [
            "/home/u/work/other",
            "/home/u/notes",
            "/srv/x",
            "/home/v/project",
        ] {
            assert!(!is_read(&around, folder), "{folder}");
        }
        // A session that our own program wrote names the folder that it worked in.
        let ours = Around {
            is_ours: true,
            ..around
        };
        assert!(is_read(&ours, "/home/u/notes") && is_read(&ours, "/srv/x"));
    }

    #[test]
    fn a_stranger_chooses_no_folder_to_work_in() {
        let around = user("/home/u/work/project");
        let works = |around: &Around, folder: &str| {
            let folder = Path::new(folder);
            around.why_not_work_in(folder).is_none()
        };
        assert!(works(&around, "/home/u/work/project"));
        for folder in ["/", "/home/u", "/home/u/work", "/home/u/work/project/src"] {
            assert!(!works(&around, folder), "{folder}");
            let ours = Around {
                is_ours: true,
                ..around.clone()
            };
            assert!(works(&ours, folder), "{folder}");
        }
        assert!(!works(
            &Around {
                here: None,
                ..around
            },
            "/"
        ));
    }

    #[test]
    fn what_is_kept_apart_is_never_read_whoever_wrote_the_session() {
        for here in ["/home/u", "/home/u/.ssh", "/", "/etc", "/home/u/work"] {
            let ours = Around {
                is_ours: true,
                ..user(here)
            };
            for around in [user(here), ours] {
                let kept = [
                    "/",
                    "/home",
                    "/home/u",
                    "/home/u/.ssh",
                    "/home/u/.config/x",
                    "/home/u/work/.git",
                    "/etc",
                    "/etc/ssl",
                    "/root",
                    "/var/lib/x",
                    "/proc/self",
                    "/sys",
                ];
                for folder in kept {
                    assert!(!is_read(&around, folder), "{folder} from {here}");
                }
            }
        }
    }

    #[test]
    fn a_home_that_the_system_has_is_a_home() {
        let service = Around {
            home: Some("/var/lib/x".into()),
            ..user("/var/lib/x/project")
        };
        assert!(is_read(&service, "/var/lib/x/project"));
        assert!(!is_read(&service, "/var/lib/x") && !is_read(&service, "/var/lib/x/.ssh"));
        let temp = Around {
            temp: "/var/folders/t".into(),
            ..user("/var/folders/t/x")
        };
        assert!(is_read(&temp, "/var/folders/t/x") && !is_read(&temp, "/var/folders"));
    }

    #[test]
    fn without_a_home_only_the_folder_that_the_user_is_in_is_read() {
        let around = Around {
            home: None,
            is_ours: true,
            ..user("/srv/x")
        };
        assert!(is_read(&around, "/srv/x"));
        assert!(!is_read(&around, "/srv/x/y") && !is_read(&around, "/srv"));
        assert!(!is_read(
            &Around {
                here: None,
                ..around
            },
            "/srv/x"
        ));
    }
}
