//! Export of a session to a self-contained HTML page.

mod data;
mod layout;

use std::io::{self, Write};

use context_trajectory::SessionGraph;
use data::write_data;

const HEAD: &str = include_str!("html/head.html");
const STYLE: &str = include_str!("html/page.css");
const BODY: &str = include_str!("html/body.html");
/// The scripts, in dependency order.
const SCRIPTS: [&str; 4] = [
    include_str!("html/draw.js"),
    include_str!("html/view.js"),
    include_str!("html/details.js"),
    include_str!("html/search.js"),
];

/// Writes a page that draws a graph: a single file that needs no network. A content security policy
/// forbids all network access.
///
/// Rounds are bands, agents stand side by side, and data stands next to the computation that
/// produced it. Inactive branches are dimmed and can be hidden. The page pans and zooms, searches
/// all node content, and shows the details of a selected node: fields, measurements, messages,
/// earlier versions, predecessors and successors. Everything can be done with the keyboard.
///
/// The file contains the full content of all nodes, also where the drawing shortens it. Returns the
/// errors of the writer.
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
