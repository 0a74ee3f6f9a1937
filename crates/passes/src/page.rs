//! The HTML page: every error with its control-flow graphs before and after, drawn as inline SVG so that
//! the page is one file that needs nothing from the network.

use crate::picture::Node;
use crate::report::{FileReport, UpdateError};
use html_escape::encode_double_quoted_attribute as escape;
use std::fmt::Write;

const STYLE: &str = "body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:1500px;padding:0 1rem;color:#1c2530;background:#fbfbfa}\
h1{font-size:1.5rem}h2{font-size:1.05rem;margin:2.2rem 0 .4rem}.lost{color:#9a5b00}.incorrect{color:#a3162b}\
code,text{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:12px}dl{display:grid;grid-template-columns:8rem 1fr;gap:.15rem .8rem;margin:.5rem 0}\
dt{color:#667}dd{margin:0}.graphs{display:flex;gap:1.5rem;flex-wrap:wrap;align-items:flex-start}figure{margin:0;overflow:auto;max-width:100%}\
figcaption{color:#667;margin:.3rem 0}rect.block{fill:#fff;stroke:#9aa5b1}rect.mark{fill:#ffe9a8}path{fill:none;stroke:#6b7785}.line{fill:#8a94a0}\
@media(prefers-color-scheme:dark){body{background:#15191e;color:#dde3ea}rect.block{fill:#1d232a;stroke:#56616d}text{fill:#dde3ea}rect.mark{fill:#6a4e00}}";

/// The page with every error and its graphs.
pub fn page(reports: &[FileReport]) -> String {
    let errors: usize = reports.iter().map(|r| r.report.errors.len()).sum();
    let mut html = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>Wrong debug-location updates</title><style>{STYLE}</style><h1>Wrong debug-location updates</h1>\
         <p>{errors} in {} files.</p>",
        reports.len()
    );
    for report in reports {
        for error in &report.report.errors {
            section(&mut html, report, error);
        }
    }
    html.push_str("</html>\n");
    html
}

fn section(html: &mut String, file: &FileReport, error: &UpdateError) {
    let kind = format!("{:?}", error.kind).to_lowercase();
    let sources: Vec<String> = error
        .srcs
        .iter()
        .map(|s| format!("{} in {} (line {})", s.text, s.block, s.line.map_or("none".into(), |l| l.to_string())))
        .collect();
    let rows = [
        ("file", file.file.display().to_string()),
        ("function", error.function.clone()),
        (
            "destination",
            format!("{} in {} (line {})", error.dst.text, error.dst.block, error.dst.line.map_or("none".into(), |l| l.to_string())),
        ),
        ("sources", sources.join("; ")),
        ("operation", format!("expected {:?}, observed {:?}", error.expected, error.observed).to_lowercase()),
        ("evidence", error.evidence.as_ref().map_or("none needed".into(), super::report::EvidenceView::sentence)),
        ("site", error.site.chain.join(" → ")),
        ("skeleton", error.skeleton.clone()),
        ("instances", error.instances.to_string()),
    ];
    let _ = write!(
        html,
        "<h2><span class=\"{kind}\">{}</span> {} · {}</h2><dl>",
        kind.to_uppercase(),
        escape(&error.pass),
        escape(&error.dst.text)
    );
    for (name, value) in rows {
        let _ = write!(html, "<dt>{name}</dt><dd><code>{}</code></dd>", escape(&value));
    }
    html.push_str("</dl>");
    if let Some(picture) = &error.picture {
        let _ = write!(
            html,
            "<div class=\"graphs\"><figure><figcaption>before</figcaption>{}</figure><figure><figcaption>after</figcaption>{}</figure></div>",
            graph(&picture.before),
            graph(&picture.after)
        );
    }
}

const CHARACTER: usize = 7;
const ROW: usize = 16;
/// Blocks longer than this show only the rows around marked instructions.
const TALLEST: usize = 14;

struct Box {
    x: usize,
    y: usize,
    width: usize,
    height: usize,
    rows: Vec<(String, bool)>,
}

/// A graph as SVG: blocks in layers by their longest distance from the entry.
fn graph(nodes: &[Node]) -> String {
    let layers = layer(nodes);
    let mut boxes: Vec<Box> = nodes.iter().map(content).collect();
    let (mut y, mut widest) = (8, 0);
    for layer in 0..=layers.iter().copied().max().unwrap_or(0) {
        let (mut x, mut tallest) = (8, 0);
        for index in (0..nodes.len()).filter(|i| layers[*i] == layer) {
            (boxes[index].x, boxes[index].y) = (x, y);
            x += boxes[index].width + 28;
            tallest = tallest.max(boxes[index].height);
        }
        widest = widest.max(x);
        y += tallest + 34;
    }
    let mut svg = format!(
        "<svg width=\"{widest}\" height=\"{y}\" viewBox=\"0 0 {widest} {y}\" role=\"img\"><defs><marker id=\"a\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8\"/></marker></defs>"
    );
    for (from, node) in nodes.iter().enumerate() {
        for to in &node.successors {
            edge(&mut svg, &boxes[from], &boxes[*to], layers[*to] > layers[from]);
        }
    }
    for (shape, node) in boxes.iter().zip(nodes) {
        let _ = write!(
            svg,
            "<rect class=\"block\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"4\"/><text x=\"{}\" y=\"{}\" font-weight=\"600\">{}</text>",
            shape.x,
            shape.y,
            shape.width,
            shape.height,
            shape.x + 8,
            shape.y + 15,
            escape(&node.name)
        );
        for (row, (text, marked)) in shape.rows.iter().enumerate() {
            let top = shape.y + 22 + row * ROW;
            if *marked {
                let _ =
                    write!(svg, "<rect class=\"mark\" x=\"{}\" y=\"{top}\" width=\"{}\" height=\"{ROW}\"/>", shape.x + 3, shape.width - 6);
            }
            let _ = write!(svg, "<text x=\"{}\" y=\"{}\">{}</text>", shape.x + 8, top + 12, escape(text));
        }
    }
    svg.push_str("</svg>");
    svg
}

fn content(node: &Node) -> Box {
    let near = |i: usize| node.lines.iter().enumerate().any(|(j, l)| l.marked && i.abs_diff(j) <= 4) || i + 1 == node.lines.len();
    let long = node.lines.len() > TALLEST;
    let mut rows = Vec::new();
    for (i, line) in node.lines.iter().enumerate() {
        if long && !near(i) {
            if rows.last().is_none_or(|(text, _): &(String, bool)| text != "…") {
                rows.push(("…".to_owned(), false));
            }
            continue;
        }
        let number = line.line.map_or("      ".to_owned(), |l| format!("{l:>5} "));
        let text: String = format!("{number}{}", line.text).chars().take(60).collect();
        rows.push((text, line.marked));
    }
    let longest = rows.iter().map(|(t, _)| t.chars().count()).chain([node.name.chars().count()]).max().unwrap_or(0);
    Box { x: 0, y: 0, width: longest * CHARACTER + 18, height: rows.len() * ROW + 28, rows }
}

fn edge(svg: &mut String, from: &Box, to: &Box, downwards: bool) {
    let (x1, y1, x2, y2) = (from.x + from.width / 2, from.y + from.height, to.x + to.width / 2, to.y);
    let _ = if downwards {
        let bend = usize::midpoint(y1, y2);
        write!(svg, "<path d=\"M{x1} {y1}C{x1} {bend} {x2} {bend} {x2} {y2}\" marker-end=\"url(#a)\"/>")
    } else {
        let side = from.x.max(to.x) + from.width.max(to.width) + 14;
        let (y1, x2) = (from.y + from.height / 2, to.x + to.width);
        let (x1, y2) = (from.x + from.width, to.y + 10);
        write!(svg, "<path d=\"M{x1} {y1}C{side} {y1} {side} {y2} {x2} {y2}\" marker-end=\"url(#a)\" stroke-dasharray=\"4 3\"/>")
    };
}

fn layer(nodes: &[Node]) -> Vec<usize> {
    let mut layers = vec![0; nodes.len()];
    // Blocks mostly come before their successors, so few rounds settle; edges back do not push down.
    for _ in 0..nodes.len().min(64) {
        let mut changed = false;
        for (from, node) in nodes.iter().enumerate() {
            for to in node.successors.iter().filter(|to| **to > from) {
                if layers[*to] < layers[from] + 1 {
                    layers[*to] = layers[from] + 1;
                    changed = true;
                }
            }
        }
        if !changed {
            break;
        }
    }
    layers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::Line;

    #[test]
    fn names_with_markup_are_escaped_and_marks_are_drawn() {
        let line = Line { text: "%x = call @<T>".to_owned(), line: Some(3), marked: true };
        let svg = graph(&[Node { name: "%a&b".to_owned(), successors: vec![0], lines: vec![line] }]);
        assert!(svg.contains("%a&amp;b") && svg.contains("@&lt;T&gt;") && svg.contains("class=\"mark\""), "{svg}");
        assert!(!svg.contains("<T>"));
    }
}
