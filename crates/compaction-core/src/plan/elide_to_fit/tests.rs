//! How much of a text stays when it is shortened.

use session_model::EntryId;

use super::{EDGE, shortened};
use session_model::tokens::Chars4;

#[test]
fn beginning_and_end_keep_as_much_in_every_script() {
    for letter in ["a", "字", "😀"] {
        let text = letter.repeat(8000);
        let shorter = shortened(&text, &EntryId::new("e1"), &Chars4);
        let mut lines = shorter.lines();
        let units = |line: Option<&str>| line.map(|line| line.encode_utf16().count());
        assert_eq!(units(lines.next()), Some(EDGE), "{letter}");
        assert_eq!(units(lines.next_back()), Some(EDGE), "{letter}");
    }
}
