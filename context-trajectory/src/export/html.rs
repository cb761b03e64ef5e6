//! A page that draws a session: one file of HTML, for people.

mod data;
mod layout;

use std::io::{self, Write};

use super::session::SessionGraph;
use data::write_data;

const HEAD: &str = include_str!("html/head.html");
const STYLE: &str = include_str!("html/page.css");
const BODY: &str = include_str!("html/body.html");
/// In the order in which they build on each other.
const SCRIPTS: [&str; 4] = [
    include_str!("html/draw.js"),
    include_str!("html/view.js"),
    include_str!("html/details.js"),
    include_str!("html/search.js"),
];

/// Writes a page that draws a graph. It is a single file that needs no network and asks for none: a
/// browser is told to refuse any.
///
/// Rounds are bands, agents stand side by side, data stands beside the computation that brought it;
/// dead branches are dimmed and can be hidden. The page pans and zooms, searches in everything that
/// nodes hold, and shows all of a node that is chosen: fields, measures, messages, earlier
/// versions, what came before and what followed. Everything works with the keyboard.
///
/// All that the nodes hold is in the file, also what the drawing cuts. Errors are those of the
/// writer.
pub fn write_html(graph: &SessionGraph, mut out: impl Write) -> io::Result<()> {
    write!(
        out,
        "{HEAD}<style>\n{STYLE}</style>\n</head>\n{BODY}<script type=\"application/json\" id=\"data\">"
    )?;
    write_data(graph, &mut out)?;
    write!(out, "</script>\n<script>\n\"use strict\";\n")?;
    SCRIPTS.iter().try_for_each(|script| out.write_all(script.as_bytes()))?;
    out.write_all(b"</script>\n</body>\n</html>\n")
}
