//! Plots as SVG text. A few hundred lines of a plotting library for four bar charts would weigh more than
//! this; text is escaped here because SVG goes into pages as it is.

use html_escape::encode_double_quoted_attribute as escape;
use std::fmt::Write;

const WIDTH: f64 = 560.0;

/// One bar: label, all findings, distinct ones.
pub type Bar = (String, u64, u64);

/// Horizontal bars, all findings behind distinct ones.
pub fn bars(bars: &[Bar]) -> String {
    let row = 26.0;
    let height = (bars.len().max(1) as f64) * row + 14.0;
    let left = 118.0;
    let largest = bars.iter().map(|b| b.1).max().unwrap_or(0).max(1) as f64;
    let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">");
    for (index, (label, all, distinct)) in bars.iter().enumerate() {
        let y = index as f64 * row + 6.0;
        let scale = (WIDTH - left - 92.0) / largest;
        let (wide, narrow) = ((*all as f64 * scale).max(1.0), (*distinct as f64 * scale).max(1.0));
        let _ = write!(
            svg,
            "<text class=\"strong\" x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"end\">{}</text>\
             <rect class=\"all\" x=\"{left}\" y=\"{y:.0}\" width=\"{wide:.1}\" height=\"16\" rx=\"3\"/>\
             <rect class=\"distinct\" x=\"{left}\" y=\"{y:.0}\" width=\"{narrow:.1}\" height=\"16\" rx=\"3\"/>\
             <text x=\"{:.0}\" y=\"{:.0}\">{all}, {distinct} distinct</text>",
            left - 8.0,
            y + 12.0,
            escape(label),
            left + wide + 6.0,
            y + 12.0,
        );
    }
    svg.push_str("</svg>");
    svg
}

/// Findings over time, as steps: (seconds since the start, all, distinct).
pub fn growth(points: &[(f64, u64, u64)], span: f64) -> String {
    let (height, left, bottom, top) = (210.0, 44.0, 28.0, 12.0);
    let span = span.max(1.0);
    let largest = points.iter().map(|p| p.1).max().unwrap_or(0).max(1) as f64;
    let x = |t: f64| left + (WIDTH - left - 70.0) * (t / span).clamp(0.0, 1.0);
    let y = |n: u64| height - bottom - (height - bottom - top) * (n as f64 / largest);
    let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">");
    for tick in 0..=4u64 {
        let value = (largest * tick as f64 / 4.0).round() as u64;
        let at = y(value);
        let _ = write!(
            svg,
            "<line class=\"grid\" x1=\"{left}\" x2=\"{:.0}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/><text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{value}</text>",
            WIDTH - 70.0,
            left - 8.0,
            at + 4.0
        );
    }
    for tick in 0..=4 {
        let time = span * f64::from(tick) / 4.0;
        let _ = write!(svg, "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>", x(time), height - 8.0, clock(time));
    }
    for (class, pick) in [("line-all", (|p| p.1) as fn(&(f64, u64, u64)) -> u64), ("line-distinct", |p| p.2)] {
        let mut path = format!("M{:.1},{:.1}", x(0.0), y(0));
        for point in points {
            let _ = write!(path, "H{:.1}V{:.1}", x(point.0), y(pick(point)));
        }
        let _ = write!(path, "H{:.1}", x(span));
        let _ = write!(svg, "<path class=\"{class}\" d=\"{path}\"/>");
    }
    if let Some(last) = points.last() {
        let (all, distinct) = (y(last.1), y(last.2));
        let distinct = if (distinct - all).abs() < 14.0 { all + 14.0 } else { distinct };
        let _ = write!(
            svg,
            "<text x=\"{0:.0}\" y=\"{1:.1}\">{2} all</text><text class=\"strong\" x=\"{0:.0}\" y=\"{3:.1}\">{4} distinct</text>",
            WIDTH - 66.0,
            all + 4.0,
            last.1,
            distinct + 4.0,
            last.2
        );
    }
    svg.push_str("</svg>");
    svg
}

fn clock(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped() {
        let svg = bars(&[("<script>alert(1)</script>".to_owned(), 3, 1)]);
        assert!(!svg.contains("<script>") && svg.contains("&lt;script&gt;"), "{svg}");
    }

    #[test]
    fn empty_plots_are_still_plots() {
        assert!(bars(&[]).ends_with("</svg>"));
        assert!(growth(&[], 0.0).ends_with("</svg>"));
    }
}
