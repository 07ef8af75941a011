//! Numbers of bytes for people.

/// Returns a number of bytes for people: `950 B`, `31 kB`, `1.2 MB`.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..999_500 => format!("{} kB", (bytes + 500) / 1_000),
        999_500..999_950_000 => tenths(bytes, 1_000_000, "MB"),
        _ => tenths(bytes, 1_000_000_000, "GB"),
    }
}

fn tenths(bytes: u64, unit: u64, name: &str) -> String {
    let tenths = bytes.saturating_add(unit / 20) / (unit / 10);
    format!("{}.{} {name}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_are_short_and_never_jump_a_unit() {
        let shown = [
            0,
            999,
            1_000,
            31_499,
            999_499,
            999_500,
            12_345_678,
            999_949_999,
            999_950_000,
        ];
        let want = [
            "0 B", "999 B", "1 kB", "31 kB", "999 kB", "1.0 MB", "12.3 MB", "999.9 MB", "1.0 GB",
        ];
        assert_eq!(shown.map(size), want);
    }
}
