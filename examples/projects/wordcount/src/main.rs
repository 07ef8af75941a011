//! Counts what comes in on standard input.

use std::io::Read;

fn main() -> std::io::Result<()> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let counts = wordcount::count(&text);
    println!("{} lines, {} words, {} letters", counts.lines, counts.words, counts.letters);
    for (word, times) in wordcount::most_common(&text, 3) {
        println!("{times:6} {word}");
    }
    Ok(())
}
