//! The records of a line: one, unless two programs wrote theirs without a line feed between.

use memchr::memmem;

/// Returns the records of a line. In valid JSON a brace, a brace, a quote and a letter follow each other nowhere else than
/// between two objects.
pub fn records(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let ends = memmem::find_iter(line, br#"}{""#).map(|at| at + 1);
    let ends = ends.filter(|end| line.get(end + 2).is_some_and(u8::is_ascii_alphabetic));
    let mut from = 0;
    ends.chain([line.len()]).map(move |end| {
        let record = &line[from..end];
        from = end;
        record
    })
}

#[cfg(test)]
mod tests {
    use super::records;

    #[test]
    fn objects_without_a_line_feed_between_are_records_each() {
        let check = |line: &str, want: &[&str]| {
            let found: Vec<&[u8]> = records(line.as_bytes()).collect();
            let want: Vec<&[u8]> = want.iter().map(|text| text.as_bytes()).collect();
            assert_eq!(found, want, "{line}");
        };
        check(
            r#"{"a":1}{"b":{}}{"c":2}"#,
            &[r#"{"a":1}"#, r#"{"b":{}}"#, r#"{"c":2}"#],
        );
        for one in [
            r#"{"a":"}{\"b"}"#,
            r#"{"a":"}{","b":"}{"}"#,
            r#"{"}{":1}"#,
            "",
            "{}{}",
        ] {
            check(one, &[one]);
        }
    }
}
