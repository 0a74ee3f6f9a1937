//! A JUnit report of `check`: a suite per program, a case per build. There is no standard; this is the form that
//! Jenkins, GitLab and the usual GitHub actions read.

use super::batch::Checked;
use super::json::RunDocument;
use super::text::build_name;
use std::fmt::Write;
use trueline_model::{Violation, wording};

/// Text for an attribute or an element; XML 1.0 has no way to write most control characters.
fn escaped(text: &str) -> String {
    let writable = |c: char| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c };
    html_escape::encode_double_quoted_attribute(&text.chars().map(writable).collect::<String>()).into_owned()
}

fn titled(violation: &Violation) -> String {
    format!("{}: {}", violation.invariant(), wording::words(violation).title)
}

fn case(out: &mut String, program: &str, run: &RunDocument) {
    let (name, class) = (escaped(&build_name(run.compiler.as_ref(), run.opt)), escaped(program));
    let seconds = run.compile_cpu.unwrap_or(0.0) + run.trace_cpu.unwrap_or(0.0);
    let _ = write!(out, "    <testcase name=\"{name}\" classname=\"{class}\" time=\"{seconds:.3}\">");
    if let Some(error) = &run.error {
        let element = if error.known { "skipped" } else { "error" };
        let first = error.message.lines().next().unwrap_or("");
        let _ = write!(out, "\n      <{element} message=\"{}\">{}</{element}>\n    ", escaped(first), escaped(&error.message));
    } else if !run.violations.is_empty() {
        let titles: Vec<String> = run.violations.iter().map(titled).collect();
        let message = match &titles[..] {
            [only] => only.clone(),
            [first, rest @ ..] => format!("{first}, and {} more", rest.len()),
            [] => String::new(),
        };
        let _ = write!(out, "\n      <failure message=\"{}\">{}</failure>\n    ", escaped(&message), escaped(&titles.join("\n")));
    }
    if !run.known.is_empty() {
        let titles: Vec<String> = run.known.iter().map(|v| format!("known: {}", titled(v))).collect();
        let _ = write!(out, "\n      <system-out>{}</system-out>\n    ", escaped(&titles.join("\n")));
    }
    out.push_str("</testcase>\n");
}

/// The whole report as XML.
pub fn report(checked: &[Checked]) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"trueline check\">\n");
    for program in checked {
        let count = |what: &dyn Fn(&RunDocument) -> bool| program.runs.iter().filter(|run| what(run)).count();
        let failures = count(&|r| r.error.is_none() && !r.violations.is_empty());
        let errors = count(&|r| r.error.as_ref().is_some_and(|e| !e.known));
        let skipped = count(&|r| r.error.as_ref().is_some_and(|e| e.known));
        let name = escaped(&program.program);
        let _ = writeln!(
            out,
            "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\">",
            program.runs.len()
        );
        program.runs.iter().for_each(|run| case(&mut out, &program.program, run));
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn text_cannot_break_the_document() {
        assert_eq!(super::escaped("a<b> & \"c\"\u{1b}[m"), "a&lt;b&gt; &amp; &quot;c&quot;\u{fffd}[m");
    }
}
