//! Numbers

/// error of parse_bytes
#[derive(Debug, PartialEq)]
pub enum BytesError {
    Empty,
    BadNumber,
    BadUnit(String),
}

/// 1234567 -> 1,234,567
pub fn group_thousands(n: i64) -> String {
    let digits = n.unsigned_abs().to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(c);
    }
    if n < 0 {
        out.insert(0, '-');
    }
    out
}

/// the other way round
pub fn parse_grouped(s: &str) -> Result<i64, String> {
    let t = s.trim();
    let negative = t.starts_with('-');
    let t = t.trim_start_matches('-');
    if t.is_empty() {
        return Err("empty number".to_string());
    }
    let groups: Vec<&str> = t.split(',').collect();
    for (i, g) in groups.iter().enumerate() {
        if i > 0 && g.len() != 3 {
            return Err(format!("Bad group {:?} in {:?}", g, s));
        }
        if i == 0 && groups.len() > 1 && (g.is_empty() || g.len() > 3) {
            return Err(format!("Bad group {:?} in {:?}", g, s));
        }
    }
    let plain = groups.concat();
    match plain.parse::<i64>() {
        Ok(n) => Ok(if negative { -n } else { n }),
        Err(e) => Err(e.to_string()),
    }
}

const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];

/// Formats a size, binary units.
pub fn format_bytes(n: u64) -> String {
    let mut value = n as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit < UNITS.len() - 1 {
        value = value / 1024.0;
        unit = unit + 1;
    }
    if unit == 0 {
        return format!("{} B", n);
    }
    format!("{:.1} {}", value, UNITS[unit])
}

pub fn parse_bytes(s: &str) -> Result<u64, BytesError> {
    let s = s.trim();
    if s.is_empty() {
        return Err(BytesError::Empty);
    }
    let split = s.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(s.len());
    let number: f64 = match s[..split].parse() {
        Ok(n) => n,
        Err(_) => return Err(BytesError::BadNumber),
    };
    let unit = s[split..].trim();
    let factor: u64 = match unit.to_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1024,
        "m" | "mib" => 1024 * 1024,
        "g" | "gib" => 1024 * 1024 * 1024,
        "t" | "tib" => 1024 * 1024 * 1024 * 1024,
        _ => return Err(BytesError::BadUnit(unit.to_string())),
    };
    Ok((number * factor as f64) as u64)
}

/// 1st, 2nd, 3rd, 4th
pub fn ordinal(n: u32) -> String {
    let suffix = match n % 10 {
        1 => "st",
        2 => "nd",
        3 => "rd",
        _ => "th",
    };
    format!("{}{}", n, suffix)
}

const ROMAN: [(u32, &str); 13] = [
    (1000, "M"),
    (900, "CM"),
    (500, "D"),
    (400, "CD"),
    (100, "C"),
    (90, "XC"),
    (50, "L"),
    (40, "XL"),
    (10, "X"),
    (9, "IX"),
    (5, "V"),
    (4, "IV"),
    (1, "I"),
];

/// None for 0 and above 3999
pub fn to_roman(n: u32) -> Option<String> {
    if n == 0 || n > 3999 {
        return None;
    }
    let mut rest = n;
    let mut out = String::new();
    for (value, letters) in ROMAN.iter() {
        while rest >= *value {
            out.push_str(letters);
            rest = rest - value;
        }
    }
    Some(out)
}

pub fn from_roman(s: &str) -> Result<u32, String> {
    let upper = s.to_uppercase();
    let mut rest = upper.as_str();
    let mut n = 0;
    for (value, letters) in ROMAN.iter() {
        while rest.starts_with(letters) {
            n = n + value;
            rest = &rest[letters.len()..];
        }
    }
    if !rest.is_empty() || to_roman(n) != Some(upper.clone()) {
        return Err(format!("Not a roman number: {}", s));
    }
    Ok(n)
}

/// part of whole in percent, one digit
pub fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "n/a".to_string();
    }
    format!("{:.1}%", part as f64 * 100.0 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_there_and_back() {
        assert_eq!(group_thousands(-1234567), "-1,234,567");
        assert_eq!(group_thousands(999), "999");
        assert_eq!(parse_grouped("-1,234,567").unwrap(), -1234567);
        assert!(parse_grouped("12,34").is_err());
        assert!(parse_grouped("").is_err());
    }

    #[test]
    fn sizes_there_and_back() {
        assert_eq!(format_bytes(1023), "1023 B");
        assert_eq!(format_bytes(1536), "1.5 KiB");
        assert_eq!(parse_bytes("1.5 KiB"), Ok(1536));
        assert!(parse_bytes("3 parsecs").is_err());
        assert!(parse_bytes("").is_err());
    }

    #[test]
    fn ordinals() {
        assert_eq!(ordinal(1), "1st");
        assert_eq!(ordinal(22), "22nd");
        assert_eq!(ordinal(103), "103rd");
    }

    #[test]
    fn ordinals_of_the_teens() {
        assert_eq!(ordinal(11), "11th");
        assert_eq!(ordinal(112), "112th");
        assert_eq!(ordinal(13), "13th");
    }

    #[test]
    fn roman_numbers_there_and_back() {
        assert_eq!(to_roman(1994).unwrap(), "MCMXCIV");
        assert_eq!(from_roman("mcmxciv").unwrap(), 1994);
        assert!(from_roman("IIII").is_err());
        assert_eq!(to_roman(0), None);
        assert_eq!(percent(1, 3), "33.3%");
    }
}
