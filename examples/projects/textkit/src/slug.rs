//! slugs for urls and file names

use std::collections::HashMap;

#[derive(Debug)]
pub struct SlugError {
    pub input: String,
}

impl std::fmt::Display for SlugError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "nothing left of {:?}", self.input)
    }
}

impl std::error::Error for SlugError {}

// é -> e and so on, only latin
fn fold(c: char) -> String {
    let folded = match c {
        'à' | 'á' | 'â' | 'ã' | 'å' | 'À' | 'Á' | 'Â' | 'Ã' | 'Å' => "a",
        'ä' | 'Ä' | 'æ' | 'Æ' => "ae",
        'ç' | 'Ç' => "c",
        'è' | 'é' | 'ê' | 'ë' | 'È' | 'É' | 'Ê' | 'Ë' => "e",
        'ì' | 'í' | 'î' | 'ï' | 'Ì' | 'Í' | 'Î' | 'Ï' => "i",
        'ñ' | 'Ñ' => "n",
        'ò' | 'ó' | 'ô' | 'õ' | 'ø' | 'Ò' | 'Ó' | 'Ô' | 'Õ' | 'Ø' => "o",
        'ö' | 'Ö' | 'œ' | 'Œ' => "oe",
        'ß' => "ss",
        'ù' | 'ú' | 'û' | 'Ù' | 'Ú' | 'Û' => "u",
        'ü' | 'Ü' => "ue",
        'ý' | 'ÿ' | 'Ý' => "y",
        _ => "",
    };
    if folded == "" && c.is_ascii() {
        return c.to_lowercase().to_string();
    }
    folded.to_string()
}

/// Makes a slug. An error if nothing is left.
pub fn slugify(s: &str) -> Result<String, SlugError> {
    slugify_with(s, '-', 0)
}

/// max 0 = no limit
pub fn slugify_with(s: &str, separator: char, max: usize) -> Result<String, SlugError> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    for c in s.chars() {
        if c == '\'' || c == '’' {
            continue;
        }
        let folded = fold(c);
        if c.is_alphanumeric() && !folded.is_empty() {
            word.push_str(&folded);
        } else if !word.is_empty() {
            words.push(word.clone());
            word.clear();
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    let mut out = String::new();
    for w in &words {
        let needed = if out.is_empty() { w.len() } else { out.len() + 1 + w.len() };
        if max > 0 && needed > max {
            break;
        }
        if !out.is_empty() {
            out.push(separator);
        }
        out.push_str(w);
    }
    if out.is_empty() {
        return Err(SlugError {
            input: s.to_string(),
        });
    }
    Ok(out)
}

/// Remembers slugs and adds numbers.
#[derive(Debug, Default)]
pub struct Slugger {
    seen: HashMap<String, usize>,
}

impl Slugger {
    pub fn new() -> Self {
        Slugger {
            seen: HashMap::new(),
        }
    }

    pub fn slug(&mut self, s: &str) -> Result<String, SlugError> {
        let base = slugify(s)?;
        let count = self.seen.entry(base.clone()).or_insert(0);
        *count = *count + 1;
        if *count == 1 {
            return Ok(base);
        }
        let n = *count;
        Ok(format!("{}-{}", base, n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accents_and_punctuation_go() {
        assert_eq!(slugify("Crème Brûlée, s'il vous plaît!").unwrap(), "creme-brulee-sil-vous-plait");
        assert_eq!(slugify("Grüße aus Köln").unwrap(), "gruesse-aus-koeln");
        assert!(slugify("¿?").is_err());
    }

    #[test]
    fn a_limit_cuts_between_words() {
        assert_eq!(slugify_with("one two three", '_', 8).unwrap(), "one_two");
        assert_eq!(slugify_with("one two three", '_', 0).unwrap(), "one_two_three");
    }

    #[test]
    fn repeated_titles_are_numbered() {
        let mut slugger = Slugger::new();
        assert_eq!(slugger.slug("Notes").unwrap(), "notes");
        assert_eq!(slugger.slug("notes!").unwrap(), "notes-2");
    }
}
