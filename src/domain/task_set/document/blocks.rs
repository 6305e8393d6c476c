//! A Markdown text as a flat list of the blocks that a requirement document is read by.

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// One block, in document order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Block {
    /// A heading.
    Heading { level: usize, text: String, start: usize },
    /// A code block.
    Code { text: String },
    /// A paragraph outside lists.
    Paragraph { text: String },
    /// A list item, without its nested lists. `code` = its content, where that is one code span.
    Item { depth: usize, checkbox: bool, ticked: bool, text: String, code: Option<String>, start: usize },
}

/// Reads `text`; HTML and comments are no part of it.
pub(super) fn blocks(text: &str) -> Vec<Block> {
    let mut reader = Reader::default();
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TASKLISTS).into_offset_iter() {
        reader.read(event, range.start);
    }
    reader.blocks
}

#[derive(Default)]
struct Reader {
    blocks: Vec<Block>,
    /// Items that are open, as places in `blocks`.
    items: Vec<usize>,
    heading: Option<(usize, usize)>,
    in_code: bool,
    text: String,
}

impl Reader {
    fn read(&mut self, event: Event<'_>, start: usize) {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                self.heading = Some((depth_of(level), start));
                self.text.clear();
            }
            Event::End(TagEnd::Heading(_)) => {
                let text = std::mem::take(&mut self.text);
                if let Some((level, start)) = self.heading.take() {
                    self.blocks.push(Block::Heading { level, text, start });
                }
            }
            Event::Start(Tag::Item) => {
                self.items.push(self.blocks.len());
                let depth = self.items.len();
                let text = String::new();
                self.blocks.push(Block::Item { depth, checkbox: false, ticked: false, text, code: None, start });
            }
            Event::End(TagEnd::Item) => drop(self.items.pop()),
            Event::TaskListMarker(is_ticked) => {
                if let Some(Block::Item { checkbox, ticked, .. }) = self.item() {
                    (*checkbox, *ticked) = (true, is_ticked);
                }
            }
            Event::Start(Tag::CodeBlock(_)) => {
                self.in_code = true;
                self.text.clear();
            }
            Event::End(TagEnd::CodeBlock) => {
                self.in_code = false;
                let text = std::mem::take(&mut self.text);
                self.blocks.push(Block::Code { text });
            }
            Event::Start(Tag::Paragraph) if self.items.is_empty() => self.text.clear(),
            Event::End(TagEnd::Paragraph) if self.items.is_empty() => {
                let text = std::mem::take(&mut self.text);
                self.blocks.push(Block::Paragraph { text });
            }
            Event::End(TagEnd::Paragraph) => self.add("\n", false),
            Event::Text(text) | Event::InlineHtml(text) => self.add(&text, false),
            Event::Code(text) => self.add(&text, true),
            Event::SoftBreak | Event::HardBreak => self.add("\n", false),
            _ => {}
        }
    }

    fn item(&mut self) -> Option<&mut Block> {
        self.items.last().and_then(|at| self.blocks.get_mut(*at))
    }

    fn add(&mut self, piece: &str, is_code: bool) {
        if self.in_code || self.heading.is_some() || self.items.is_empty() {
            self.text.push_str(piece);
            return;
        }
        if let Some(Block::Item { text, code, .. }) = self.item() {
            // One code span and nothing else is the item's content word for word.
            *code = if is_code && text.trim().is_empty() {
                Some(piece.to_owned())
            } else {
                code.take().filter(|_| piece.trim().is_empty())
            };
            text.push_str(piece);
        }
    }
}

fn depth_of(level: HeadingLevel) -> usize {
    level as usize
}
