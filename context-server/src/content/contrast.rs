//! Colours that can be read on a background.

/// The least contrast of text, as WCAG 2 defines it for level AA.
const LEAST: f64 = 4.5;
/// The steps from a colour to black or white.
const STEPS: u32 = 32;

/// Returns styles in which each colour of text is moved towards black or white, until it can be
/// read on this background.
pub(super) fn readable(styles: &str, background: [u8; 3]) -> String {
    let lines = styles.lines().map(|line| {
        let color = line.trim().strip_prefix("color: #").and_then(|rest| {
            let (digits, rest) = rest.split_once(';')?;
            Some((color(digits)?, rest))
        });
        match color {
            Some((color, rest)) => {
                let [red, green, blue] = moved(color, background);
                format!(" color: #{red:02x}{green:02x}{blue:02x};{rest}")
            }
            None => line.to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Parses six digits; an opacity after them is ignored.
fn color(digits: &str) -> Option<[u8; 3]> {
    let part = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    Some([part(0)?, part(2)?, part(4)?])
}

fn moved(color: [u8; 3], background: [u8; 3]) -> [u8; 3] {
    let end = if luminance(background) > 0.5 { 0.0 } else { 255.0 };
    let at = |step: u32| {
        let share = f64::from(step) / f64::from(STEPS);
        // A mean of two bytes is a byte.
        color.map(|part| (f64::from(part) * (1.0 - share) + end * share).round() as u8)
    };
    (0..=STEPS).map(at).find(|it| contrast(*it, background) >= LEAST).unwrap_or(at(STEPS))
}

fn contrast(one: [u8; 3], other: [u8; 3]) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

fn luminance(color: [u8; 3]) -> f64 {
    let [red, green, blue] = color.map(|part| {
        let part = f64::from(part) / 255.0;
        if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    });
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

#[cfg(test)]
mod tests {
    use super::{contrast, moved, readable};

    #[test]
    fn a_faint_colour_is_moved_until_it_can_be_read() {
        let (white, black) = ([255; 3], [0; 3]);
        assert!((contrast(white, black) - 21.0).abs() < 1e-9);
        for (faint, background) in [([0x96, 0x98, 0x96], white), ([0x30, 0x30, 0x60], black)] {
            assert!(contrast(faint, background) < 4.5);
            assert!(contrast(moved(faint, background), background) >= 4.5);
        }
        let styles = " color: #183691;\n background-color: #ffffff;\n color: #969896;";
        let readable = readable(styles, white);
        assert!(readable.starts_with(" color: #183691;\n background-color: #ffffff;\n"));
        assert!(!readable.contains("969896"));
    }
}
