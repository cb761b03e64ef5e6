//! Drawings of chats: shapes, widths, and what is folded.

use std::collections::{BTreeMap, HashMap};

use context_core::store::NewChat;
use context_core::{Encoded, Message, Node, Part, Timestamp};
use insta::assert_snapshot;
use proptest::prelude::*;

use super::*;

const AT: Timestamp = Timestamp::from_micros(0);

pub(super) fn graph(nodes: Vec<PlacedNode>) -> MessageGraph {
    let chat = Chat::new(NewChat::new(ChatRef::new("ada", "lisbon"), AT));
    MessageGraph { chat, nodes, branches: Vec::new(), checkpoints: Vec::new() }
}

/// Places a node. The first letter of its id is that of its role; `b` is a boundary.
fn node(id: &str, parent: Option<&str>, depth: u64, text: &str) -> PlacedNode {
    let pinned = text.ends_with('!');
    let message = |role| {
        let message = match role {
            Role::Assistant if text == "call" => {
                Message::new(role, [Part::tool_call("c", "trains", "{}")])
            }
            role => Message::text(role, text),
        };
        Node::new(id, if pinned { message.pinned() } else { message }, AT)
    };
    let node = match id.as_bytes()[0] {
        b'a' => message(Role::Assistant),
        b't' => message(Role::Tool),
        b's' => message(Role::System),
        b'b' => {
            let body = Encoded::new("snip", 1, "");
            Node::from_encoded(id.into(), NodeKind::Boundary, AT, body)
        }
        _ => message(Role::User),
    };
    PlacedNode::new(node, parent.map(MessageId::from), depth)
}

/// Creates a graph of words: `id<parent:text` is a message (after the one before unless a parent is
/// named), `name=id` a branch, `name*=id` the active one, `@name=id` a checkpoint.
fn read(words: &str) -> MessageGraph {
    let mut graph = graph(Vec::new());
    let mut depths: HashMap<String, u64> = HashMap::new();
    let mut last: Option<String> = None;
    for word in words.split_whitespace() {
        if let Some((name, id)) = word.split_once('=') {
            let id = MessageId::from(id);
            if let Some(name) = name.strip_prefix('@') {
                graph.checkpoints.push(Checkpoint::new(name.into(), id, AT));
                continue;
            }
            let (name, active) = (BranchName::from(name.trim_end_matches('*')), name.contains('*'));
            if active {
                graph.chat.active = name.clone();
            }
            let head = Some(id).filter(|id| !id.as_str().is_empty());
            graph.branches.push(Branch::new(name, head, 0, active, AT));
            continue;
        }
        let (word, text) = word.split_once(':').unwrap_or((word, ""));
        let (id, parent) = match word.split_once('<') {
            Some((id, parent)) => (id, Some(parent.to_owned()).filter(|it| !it.is_empty())),
            None => (word, last.take()),
        };
        let depth = parent.as_ref().map_or(0, |parent| depths.get(parent).map_or(0, |it| it + 1));
        depths.insert(id.to_owned(), depth);
        graph.nodes.push(node(id, parent.as_deref(), depth, text));
        last = Some(id.to_owned());
    }
    graph
}

fn text(words: &str) -> String {
    read(words).draw(GraphFormat::Text)
}

fn with(detail: GraphDetail, reverse: bool, branch: Option<&str>) -> GraphOptions {
    GraphOptions { branch: branch.map(BranchName::from), detail, reverse }
}

/// A chat with texts that try to break out of their context.
pub(super) fn hostile() -> MessageGraph {
    let mut graph = graph(vec![
        node("u\"]; end", None, 0, "\"]:::x; click n0 call alert(1) %%{init: {}}%%"),
        node("a", Some("u\"]; end"), 1, "\\\" <b>&lt;</b> `code` #quot; \\N 1. one"),
        node("u2", Some("a"), 2, "- a\n- b\u{2028}c\u{1b}[2J"),
        node("u3", Some("a"), 2, "end"),
        node("a4", Some("u3"), 3, "x"),
        node("t5", Some("a4"), 4, "y"),
        node("u6", Some("t5"), 5, "subgraph graph ends"),
    ]);
    let branch = |name: &str, head: Option<&str>, active| {
        Branch::new(name.into(), head.map(MessageId::from), 0, active, AT)
    };
    graph.branches = vec![branch("main", Some("u2"), true), branch("\"]--> x", None, false)];
    graph.checkpoints = vec![Checkpoint::new("\"; }]".into(), "u6".into(), AT)];
    graph
}

#[test]
fn a_turn_is_one_line_and_ends_at_a_fork_a_mark_or_a_boundary() {
    let turns = text("s1:rules u1:tickets a2:call t3 a4:call t5 a6:two u7:book a8:done main*=a8");
    assert_snapshot!(turns, @"
    ● s1  system  rules
    ● u1  user  tickets · 6 messages, 2 tool calls
    ● u7  [main*]  user  book · 2 messages
    ");
    let parts = "u1:one a2:call t3 a4:no a5<t3:yes u6 a7:x! t8 b9 a10 @half=a10 a11 main*=a11";
    assert_snapshot!(text(parts), @"
    ● u1  user  one · 3 messages, 1 tool call
    ├─○ a4  assistant  no
    ● a5  assistant  yes
    ● u6  [pinned]  user · 2 messages
    ● t8  tool
    ◆ b9  boundary
    ● a10  [checkpoint: half]  assistant
    ● a11  [main*]  assistant
    ");
}

#[test]
fn long_runs_of_turns_are_counted() {
    let words: String = (1..=9).map(|i| format!("u{i}:q{i} a{i}:r{i} ")).collect();
    let graph = read(&(words + "main*=a9"));
    assert_snapshot!(graph.draw(GraphFormat::Text), @"
    ● u1  user  q1 · 2 messages
    ⋮ 7 turns
    ● u9  [main*]  user  q9 · 2 messages
    ");
    let lines = |detail| graph.lines(&with(detail, false, None)).len();
    assert_eq!([lines(GraphDetail::Turns), lines(GraphDetail::Messages)], [9, 18]);
}

const BRANCHES: &str = "u1 a1 u2 a2 u3<a1 a3 u4<a3 a4 u5<a3 a5 u6<a1 a6 u7<a6 a7 u8<a2 a8 \
    main*=a6 one=a2 two=a4 three=a5 four=a7 five=a8";

#[test]
fn the_path_is_straight_and_others_branch_off_to_the_right() {
    assert_snapshot!(text(BRANCHES), @"
    ● u1  user · 2 messages
    ├─○ u2  [one]  user · 2 messages
    │ ○ u8  [five]  user · 2 messages
    ├─○ u3  user · 2 messages
    │ ├─○ u4  [two]  user · 2 messages
    │ ○ u5  [three]  user · 2 messages
    ● u6  [main*]  user · 2 messages
    ╰─○ u7  [four]  user · 2 messages
    ");
    let graph = read(BRANCHES);
    let options = with(GraphDetail::Overview, true, Some("two"));
    assert_snapshot!(graph.draw_with(GraphFormat::Text, &options), @"
    ● u4  [two]  user · 2 messages
    │ ○ u5  [three]  user · 2 messages
    ├─╯
    ● u3  user · 2 messages
    │ ○ u7  [four]  user · 2 messages
    │ ○ u6  [main*]  user · 2 messages
    ├─╯
    │ ○ u8  [five]  user · 2 messages
    │ ○ u2  [one]  user · 2 messages
    ├─╯
    ● u1  user · 2 messages
    ");
}

#[test]
fn the_newest_turns_are_kept_with_what_branches_off() {
    let mut graph = read(BRANCHES);
    graph.keep_newest(1, None);
    assert_snapshot!(graph.draw(GraphFormat::Text), @"
    ⋮ 2 messages before, and 4 branches
    ● u6  [main*]  user · 2 messages
    ╰─○ u7  [four]  user · 2 messages
    ");
    let reversed = with(GraphDetail::Turns, true, None);
    assert_snapshot!(graph.draw_with(GraphFormat::Text, &reversed), @"
      ○ u7  [four]  user · 2 messages
    ╭─╯
    ● u6  [main*]  user · 2 messages
    ⋮ 2 messages before, and 4 branches
    ");
    let mut whole = read(BRANCHES);
    whole.keep_newest(9, None);
    assert_eq!(whole, read(BRANCHES));
}

#[test]
fn several_roots_lost_parents_and_empty_branches() {
    assert_snapshot!(text("u1 a1 u2< a2 u3<lost main*= x=a2"), @"
    ○ u1  user · 2 messages

    ○ u2  [x]  user · 2 messages

    ○ u3  user

    ● [main*] without messages
    ");
    assert_eq!(text(""), "");
    assert_eq!(text("u1<u2 u2<u1"), "○ u1  user\n○ u2  user\n");
}

/// A fork at every node, which would overflow a recursive implementation and indent by depth.
#[test]
fn a_hundred_thousand_forks_stay_narrow() {
    let ids: Vec<_> = (0..100_000usize).map(|i| format!("u{i}")).collect();
    let parent = |i: usize| if i.is_multiple_of(2) { i.checked_sub(2) } else { Some(i - 1) };
    let place = |i: usize| node(&ids[i], parent(i).map(|it| ids[it].as_str()), i as u64, "");
    let graph = graph((0..ids.len()).map(place).collect());
    let lines = graph.lines(&GraphOptions::default());
    assert_eq!(lines.len(), ids.len());
    assert!(lines.iter().all(|line| columns(line).len() <= 6));
    assert_eq!(graph.draw(GraphFormat::Mermaid).lines().count(), 2 * ids.len());
    assert_eq!(graph.draw(GraphFormat::Dot).lines().count(), 2 * ids.len() + 2);
}

fn columns(line: &GraphLine) -> Vec<char> {
    let is_column = |kind| matches!(kind, GraphSpan::Path | GraphSpan::Column);
    let columns = line.spans.iter().filter(|(kind, _)| is_column(*kind));
    columns.flat_map(|(_, text)| text.chars()).collect()
}

fn span(line: &GraphLine, kind: GraphSpan) -> Option<&str> {
    line.spans.iter().find(|span| span.0 == kind).map(|span| span.1.as_str())
}

/// Reads the lines of a drawing, oldest first, as a person does: returns the line above that each
/// line is connected to.
fn connections(lines: &[GraphLine]) -> Vec<Option<usize>> {
    let cells: Vec<_> = lines.iter().map(columns).collect();
    let is_node = |c: char| "●○◆◇⋮".contains(c);
    let above = |line: usize, column: usize| {
        for above in (0..line).rev() {
            match cells[above].get(column) {
                Some('│' | '├') => {}
                Some(c) if is_node(*c) => return Some(above),
                cell => panic!("line {line} hangs in the air at {cell:?}, column {column}"),
            }
        }
        panic!("line {line} hangs in the air")
    };
    (0..lines.len())
        .map(|line| {
            if cells[line].is_empty() {
                return None;
            }
            let column = cells[line].len() - 2;
            assert!(is_node(cells[line][column]));
            // Lines that pass are connected too.
            for (at, cell) in cells[line][..column].iter().enumerate() {
                if "│├╰".contains(*cell) {
                    above(line, at);
                }
            }
            let is_first = line == 0 || cells[line - 1].is_empty();
            match column.checked_sub(1).map(|at| cells[line][at]) {
                Some('─') => above(line, column - 2),
                _ if is_first => None,
                _ => above(line, column),
            }
        })
        .collect()
}

fn texts(lines: &[GraphLine]) -> Vec<String> {
    lines.iter().map(ToString::to_string).collect()
}

/// Returns what a drawing with the newest first would be with the oldest first.
fn upright(lines: &[GraphLine]) -> Vec<String> {
    let mut texts = texts(lines).into_iter().rev();
    let mut turned = Vec::new();
    while let Some(text) = texts.next() {
        turned.push(match text.strip_suffix("─╯") {
            Some(columns) => {
                let next = texts.next().expect("a row");
                let rest: String = next.chars().skip(columns.chars().count() + 1).collect();
                format!("{}─{}", columns.replace('╭', "╰"), rest)
            }
            None => text,
        });
    }
    turned
}

fn any_graph() -> impl Strategy<Value = MessageGraph> {
    let node = (any::<prop::sample::Index>(), 0..8u8, 0..12u8);
    let heads = prop::collection::vec(any::<prop::sample::Index>(), 1..20);
    (prop::collection::vec(node, 1..80), heads).prop_map(|(nodes, heads)| {
        let mut words: Vec<String> = Vec::new();
        let mut ids: Vec<String> = Vec::new();
        for (i, (parent, kind, letter)) in nodes.iter().enumerate() {
            let letter = ["u", "a", "u", "a", "t", "s", "b"][usize::from(*letter).min(11) % 7];
            let id = format!("{letter}{i}");
            let parent = match kind {
                _ if i == 0 => "",
                0 => "",
                1 | 2 => &ids[parent.index(i)],
                _ => &ids[i - 1],
            };
            let pin = if *kind == 7 && i % 5 == 0 { "!" } else { "" };
            words.push(format!("{id}<{parent}:{pin}"));
            ids.push(id);
        }
        for (i, head) in heads.iter().enumerate() {
            let active = if i == 0 { "*" } else { "" };
            words.push(format!("n{i}{active}={}", ids[head.index(ids.len())]));
        }
        read(&words.join(" "))
    })
}

proptest! {
    #[test]
    fn a_drawing_shows_the_graph(
        mut graph in any_graph(), detail in 0..3u8, reverse: bool,
        branch in prop::option::of(0..20u8), newest in prop::option::of(1..5usize),
    ) {
        let detail = [GraphDetail::Overview, GraphDetail::Turns, GraphDetail::Messages]
            [usize::from(detail)];
        let branch = branch.map(|i| format!("n{}", usize::from(i) % graph.branches.len()));
        let options = with(detail, reverse, branch.as_deref());
        if let Some(turns) = newest {
            graph.keep_newest(turns, options.branch.as_ref());
        }
        let oldest_first = GraphOptions { reverse: false, ..options.clone() };
        let lines = graph.lines(&oldest_first);
        if reverse {
            prop_assert_eq!(upright(&graph.lines(&options)), texts(&lines));
        }
        prop_assert_eq!(&lines, &graph.clone().lines(&oldest_first));

        // Every head is drawn once.
        let mut labels: BTreeMap<&str, usize> = BTreeMap::new();
        let spans = lines.iter().flat_map(|line| &line.spans);
        for (_, label) in spans.filter(|span| span.0 == GraphSpan::Branch) {
            *labels.entry(label.trim()).or_default() += 1;
        }
        let is_drawn = |branch: &&Branch| {
            graph.nodes.iter().any(|placed| Some(&placed.node.id) == branch.head.as_ref())
        };
        let label = |branch: &Branch| {
            format!("[{}{}]", branch.name, if branch.active { "*" } else { "" })
        };
        let heads: BTreeMap<_, _> =
            graph.branches.iter().filter(is_drawn).map(|it| (label(it), 1)).collect();
        prop_assert_eq!(labels, heads.iter().map(|(label, n)| (label.as_str(), *n)).collect());

        // The path is in the first column, and filled nodes are nowhere else.
        let path = graph.path(options.branch.as_ref());
        prop_assert!(!path.is_empty());
        let depth = |id: &str| {
            graph.nodes.iter().find(|it| it.node.id.as_str() == id).map(|it| it.depth).unwrap()
        };
        for line in &lines {
            let cells = columns(line);
            let filled = cells.iter().position(|c| "●◆".contains(*c));
            let id = span(line, GraphSpan::Id).map(MessageId::from);
            let on_path = id.is_some_and(|id| path.contains(&id));
            prop_assert_eq!(filled, on_path.then_some(0));
            prop_assert!(cells.len() <= 2 * (graph.nodes.len().ilog2() as usize + 3));
        }

        // Every line is connected to the line of an ancestor, and to that of its parent where
        // nothing is combined.
        let parents: HashMap<_, _> =
            graph.nodes.iter().map(|it| (&it.node.id, it.parent.as_ref())).collect();
        let connections = connections(&lines);
        let mut roots = 0;
        for (at, line) in lines.iter().enumerate() {
            let Some(id) = span(line, GraphSpan::Id) else { continue };
            let mut above = connections[at];
            while let Some(hidden) = above.filter(|at| span(&lines[*at], GraphSpan::Id).is_none()) {
                above = connections[hidden];
            }
            let above = above.and_then(|at| span(&lines[at], GraphSpan::Id)).map(MessageId::from);
            let id = MessageId::from(id);
            let parent = parents[&id].filter(|id| parents.contains_key(id));
            if detail == GraphDetail::Messages {
                prop_assert_eq!(above.as_ref(), parent);
            }
            match above {
                None => {
                    roots += 1;
                    prop_assert_eq!(parent, None);
                }
                Some(above) => {
                    let ancestors = std::iter::successors(parent, |id| parents[*id]);
                    prop_assert!(ancestors.into_iter().any(|id| *id == above));
                    prop_assert!(depth(above.as_str()) < depth(id.as_str()));
                }
            }
        }
        let is_root = |placed: &&PlacedNode| {
            placed.parent.as_ref().is_none_or(|parent| !parents.contains_key(parent))
        };
        prop_assert_eq!(roots, graph.nodes.iter().filter(is_root).count());

        // Every message is counted once.
        if detail != GraphDetail::Overview {
            let size = |line: &GraphLine| span(line, GraphSpan::Size).map_or(1, |size| {
                size.trim_start_matches(" · ").split(' ').next().unwrap().parse().unwrap()
            });
            let rows = lines.iter().filter(|line| span(line, GraphSpan::Id).is_some());
            prop_assert_eq!(rows.map(size).sum::<usize>(), graph.nodes.len());
        }
        // Every box but the first ones has one arrow.
        let boxes = Boxes::of(&Tree::of(&graph, &options));
        let before = boxes.boxes.iter().filter(|it| it.label[0].contains("before")).count();
        let roots = roots + boxes.boxes.iter().filter(|it| it.label[0].contains("without")).count();
        prop_assert!(before <= roots);
        prop_assert_eq!(boxes.arrows.len(), boxes.boxes.len() - roots);
        prop_assert!(boxes.arrows.iter().all(|(from, to)| from < to));
    }
}
