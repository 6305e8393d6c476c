//! Makes hostile text harmless: it stays on its line, in its direction, and shows what it hides.

/// `text` on one line, with control, bidi and zero-width characters and escape sequences written out.
///
/// ```
/// use nav_loop::render::visible::visible;
/// assert_eq!(visible("a\nb\u{202e}c\u{1b}[31m"), "a\\nb\\u{202e}c\\u{1b}[31m");
/// ```
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => shown.push_str("\\n"),
            '\t' => shown.push(' '),
            c if is_hidden(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    shown
}

/// As [`visible`], at most `limit` characters.
pub fn visible_short(text: &str, limit: usize) -> String {
    let shown = visible(text);
    if shown.chars().count() <= limit {
        return shown;
    }
    let cut: String = shown.chars().take(limit.saturating_sub(1)).collect();
    format!("{cut}…")
}

fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}
