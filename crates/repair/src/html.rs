//! A page to look at: the disassembly with every source variable per PC, before and after.

use crate::debug::{ImageInfo, LocationCoverage};
use crate::flow::Graph;
use crate::report::Report;
use html_escape::encode_double_quoted_attribute as escape;
use iced_x86::{Formatter, IntelFormatter};
use std::fmt::Write as _;
use trueline_machine::emulate::DecodedCode;
use trueline_machine::image::{Image, ImageError};

const STYLE: &str = "body{font:14px/1.4 system-ui,sans-serif;margin:2em;color:#222}table{border-collapse:collapse;margin:1em 0}\
td,th{padding:2px 10px;border-bottom:1px solid #eee;text-align:left;vertical-align:top}code{font-family:ui-monospace,monospace}\
.missing{color:#999}.constant{color:#b50}.proved{background:#e3f6e3}.validated{background:#fdf6d8}caption{text-align:left;font-weight:600}";

/// The page for a repaired file.
pub fn page(old: &Image, new: &[u8], report: &Report) -> Result<String, ImageError> {
    let (before, image) = (ImageInfo::read(old)?, Image::parse(&old.path, new.to_vec())?);
    let after = ImageInfo::read(&image)?;
    let code = DecodedCode::new(old);
    let mut out = format!(
        "<!doctype html><meta charset=utf-8><title>{0}</title><style>{STYLE}</style><h1>{0}</h1>",
        escape(&old.path.display().to_string())
    );
    let _ = write!(out, "<p>green: proved, yellow: validated; {} bytes before, {} after</p>", report.size_before, report.size_after);
    for f in &report.functions {
        let Some(was) = before.functions.iter().find(|x| x.entry() == f.address) else { continue };
        let Some(is) = after.functions.iter().find(|x| x.entry() == f.address) else { continue };
        let graph = Graph::build(&code, was);
        let _ = write!(
            out,
            "<h2>{}</h2><p>T {} · U {} · V {} · O {} · M {} · I {} · proved {} · validated {}{}</p><table><tr><th>PC<th>instruction<th>line",
            escape(&f.name),
            f.total,
            f.updated,
            f.variables,
            f.original,
            f.missing,
            f.constant,
            f.proved,
            f.validated,
            f.reason.as_ref().map(|r| format!(" · left alone: {}", escape(r))).unwrap_or_default()
        );
        for v in &was.variables {
            let _ = write!(out, "<th>{} before<th>after", escape(&v.name));
        }
        out.push_str("</tr>");
        let mut formatter = IntelFormatter::new();
        for (pc, instruction) in &graph.instructions {
            let mut text = String::new();
            formatter.format(instruction, &mut text);
            let _ = write!(out, "<tr><td><code>{pc:x}</code><td><code>{}</code><td>{}", escape(&text), before.line_at(*pc));
            for (v, w) in was.variables.iter().zip(&is.variables) {
                let class = |c: LocationCoverage| match c {
                    LocationCoverage::OutOfScope => ("", "·"),
                    LocationCoverage::Missing => ("missing", "optimized out"),
                    LocationCoverage::Constant => ("constant", "constant"),
                    LocationCoverage::Computed => ("", "computed"),
                };
                let (c, t) = class(v.coverage(*pc));
                let _ = write!(out, "<td class={c:?}>{t}");
                let new = f.locations.iter().find(|l| l.variable == v.name && l.decl_line == v.line && *pc >= l.low && *pc < l.high);
                match new {
                    Some(l) => {
                        let label = format!("{:?}", l.label).to_lowercase();
                        let lane = l.lane.filter(|n| *n > 0).map(|n| format!(" (iteration +{n})")).unwrap_or_default();
                        let _ = write!(out, "<td class={label:?}><code>{}</code>{lane}", escape(&l.relation));
                    }
                    None => {
                        let (c, t) = class(w.coverage(*pc));
                        let _ = write!(out, "<td class={c:?}>{t}");
                    }
                }
            }
            out.push_str("</tr>");
        }
        out.push_str("</table>");
    }
    Ok(out)
}
