//! What a program does that Codex runs in place of a call: `tools.exec_command({cmd: "..."})` and patches.

use crate::arguments::COMMANDS;

/// How a patch begins that names its files in lines of their own.
pub(crate) const PATCH: &str = "*** Begin Patch";

/// What a program hands to the tools that it calls.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct CodeCalls {
    /// Commands, in their order.
    pub commands: Vec<String>,
    /// Patches, in their order.
    pub patches: Vec<String>,
}

/// Returns what a program hands to its tools, as far as it is written out in the text.
pub(crate) fn calls_of(program: &str) -> CodeCalls {
    let mut found = CodeCalls::default();
    if !program.contains("tools.") {
        return found;
    }
    let mut rest = program;
    // What stands before a literal: a key, for a member of an object.
    let mut before = "";
    while let Some(at) = rest.find(['"', '\'', '`']) {
        before = match rest[..at].trim() {
            // A key in quotes.
            ":" => before,
            between => between,
        };
        let Some((literal, length)) = literal(&rest[at..]) else {
            break;
        };
        rest = &rest[at + length..];
        let key = before.trim_end_matches(':').trim_end();
        let is_member = before.ends_with(':') || COMMANDS.contains(&before);
        let name = key
            .rsplit(|c: char| !c.is_alphanumeric() && c != '_')
            .next();
        if literal.contains(PATCH) {
            found.patches.push(literal);
        } else if is_member && name.is_some_and(|name| COMMANDS.contains(&name)) {
            found.commands.push(literal);
        } else if rest.trim_start().starts_with(':') && COMMANDS.contains(&literal.as_str()) {
            before = COMMANDS
                .iter()
                .find(|name| **name == literal)
                .copied()
                .unwrap_or_default();
            continue;
        }
        before = "";
    }
    found
}

/// Returns the text of the literal that `text` begins with, and its length in bytes.
fn literal(text: &str) -> Option<(String, usize)> {
    let mut letters = text.char_indices();
    let (_, quote) = letters.next()?;
    let mut out = String::new();
    while let Some((at, letter)) = letters.next() {
        match letter {
            letter if letter == quote => return Some((out, at + letter.len_utf8())),
            '\\' => match letters.next()?.1 {
                'n' => out.push('\n'),
                't' => out.push('\t'),
                'r' => out.push('\r'),
                '\n' => {}
                'u' => {
                    let digits: String = letters.by_ref().take(4).map(|(_, digit)| digit).collect();
                    let code = u32::from_str_radix(&digits, 16)
                        .ok()
                        .and_then(char::from_u32);
                    out.push(code.unwrap_or('\u{fffd}'));
                }
                other => out.push(other),
            },
            letter => out.push(letter),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::calls_of;

    #[test]
    fn commands_and_patches_are_found_in_programs() {
        let program = "const patch = \"*** Begin Patch\\n*** Update File: a.rs\\n@@\\n-a\\n+b\\n*** End Patch\\n\"; \
                       const r = await tools.apply_patch(patch); text(r.output);\n\
                       await tools.exec_command({cmd:\"cargo test && git commit -am \\\"Retry\\\"\",\"workdir\":\"/w\"}); \
                       await tools.exec_command({ \"cmd\": 'ls' }); text('done')";
        let found = calls_of(program);
        assert_eq!(
            found.commands,
            ["cargo test && git commit -am \"Retry\"", "ls"]
        );
        assert_eq!(found.patches.len(), 1);
        assert!(found.patches[0].contains("*** Update File: a.rs\n@@"));
        for odd in ["", "tools.", "tools.x(\"", "tools.x('\\u12", "cmd: \"ls\""] {
            assert_eq!(calls_of(odd), super::CodeCalls::default(), "{odd}");
        }
    }
}
