//! Spellings of paths: which of them name one file, as far as the words tell.

/// Returns the path that a spelling names, seen from the folder `cwd`: no `.`, no `..`, no empty names. Links are
/// unknown here, so this is for telling spellings apart and not for opening anything.
pub fn resolved(path: &str, cwd: &str) -> String {
    let own_root = path.starts_with(['/', '~']);
    let base = if own_root { "" } else { cwd };
    let root = if own_root { path } else { cwd };
    let root = if root.starts_with('/') { "/" } else { "" };
    let mut names: Vec<&str> = Vec::new();
    for name in base.split('/').chain(path.split('/')) {
        match name {
            "" | "." => {}
            ".." if names.last().is_some_and(|last| *last != "..") => drop(names.pop()),
            // Above the root is the root; above an unknown folder is another.
            ".." if root == "/" => {}
            name => names.push(name),
        }
    }
    format!("{root}{}", names.join("/"))
}

/// Returns a path as it is seen from `folder`, where it is below it; else as it is.
pub fn below<'a>(folder: &str, path: &'a str) -> &'a str {
    let rest = path.strip_prefix(folder.trim_end_matches('/'));
    let rest = rest.and_then(|rest| rest.strip_prefix('/'));
    match rest {
        Some(rest) if folder.len() > 1 && !rest.is_empty() => rest,
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::{below, resolved};

    #[test]
    fn a_path_below_a_folder_is_named_from_there() {
        assert_eq!(below("/work/p", "/work/p/src/a.rs"), "src/a.rs");
        assert_eq!(below("/work/p/", "/work/p/src/a.rs"), "src/a.rs");
        for path in ["/work/pa/src/a.rs", "/work/p", "/work/p/", "src/a.rs"] {
            assert_eq!(below("/work/p", path), path);
        }
        assert_eq!(below("", "/a"), "/a");
        assert_eq!(below("/", "/a"), "/a");
    }

    #[test]
    fn spellings_of_one_file_resolve_to_one_path() {
        for path in [
            "src/a.rs",
            "./src/a.rs",
            "src//a.rs",
            "src/../src/./a.rs",
            "/work/p/src/a.rs",
            "/../work/p/src/a.rs",
            "../p/src/a.rs",
        ] {
            assert_eq!(resolved(path, "/work/p"), "/work/p/src/a.rs", "{path}");
        }
        assert_eq!(resolved("../../../x", "/work/p/"), "/x");
        assert_eq!(resolved("./a/../../b", ""), "../b");
        assert_eq!(resolved("../../b", ""), "../../b");
        assert_eq!(resolved("~/x", "/work"), "~/x");
        assert_eq!(resolved(".", "/work"), "/work");
    }
}
