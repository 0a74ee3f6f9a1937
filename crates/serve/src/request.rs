//! What a request asks for: pure, so that every refusal can be tested.

use crate::Audience;
use crate::workshop::PageView;
use std::path::{Component, Path, PathBuf};
use tiny_http::Method;
use trueline_model::FindingId;

/// The meaning of a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PageTarget {
    /// The counts, as JSON.
    Live,
    /// The script that asks for them.
    Script,
    /// A file of the report.
    Page(PathBuf),
    /// An analysis of a finding's program.
    PageView(FindingId, PageView),
    /// Nothing, with status and reason.
    Refused(u16, &'static str),
}

/// What a request is for, or why it is refused.
pub(crate) fn target_of(method: &Method, host: Option<&str>, url: &str, reach: Audience) -> PageTarget {
    if *method != Method::Get && *method != Method::Head {
        return PageTarget::Refused(405, "only GET is answered");
    }
    if reach == Audience::Loopback && !host.is_some_and(names_this_machine) {
        return PageTarget::Refused(403, "ask for this page as localhost");
    }
    let path = url.split(['?', '#']).next().unwrap_or("");
    match path {
        "/live.json" => PageTarget::Live,
        "/live.js" => PageTarget::Script,
        "/" => PageTarget::Page(PathBuf::from("index.html")),
        _ => view_of(path).unwrap_or_else(|| {
            let relative = Path::new(path.trim_start_matches('/'));
            // Names are the report's own: no dots, no escapes, no percent signs to decode.
            let plain = relative.components().all(|c| matches!(c, Component::Normal(_))) && !path.contains('%');
            if plain { PageTarget::Page(relative.to_owned()) } else { PageTarget::Refused(404, "no such page") }
        }),
    }
}

/// The finding and the view of a path such as `/findings/7/repair.html`.
fn view_of(path: &str) -> Option<PageTarget> {
    let (id, name) = path.strip_prefix("/findings/")?.split_once('/')?;
    Some(PageTarget::PageView(FindingId(id.parse().ok()?), PageView::of(name)?))
}

/// A name that a rebinding attack cannot have: the loopback addresses and `localhost`.
fn names_this_machine(host: &str) -> bool {
    let name = host.rsplit_once(':').map_or(host, |(name, port)| if port.bytes().all(|b| b.is_ascii_digit()) { name } else { host });
    matches!(name, "localhost" | "127.0.0.1" | "[::1]")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(host: &str, url: &str) -> PageTarget {
        target_of(&Method::Get, Some(host), url, Audience::Loopback)
    }

    #[test]
    fn pages_are_found_by_their_names() {
        assert_eq!(get("localhost:7878", "/"), PageTarget::Page("index.html".into()));
        assert_eq!(get("127.0.0.1:7878", "/findings/3.html?x=1"), PageTarget::Page("findings/3.html".into()));
        assert_eq!(get("[::1]:7878", "/live.json"), PageTarget::Live);
    }

    #[test]
    fn analyses_are_found_below_their_finding() {
        assert_eq!(get("localhost", "/findings/7/repair.html"), PageTarget::PageView(FindingId(7), PageView::Repair));
        assert_eq!(get("localhost", "/findings/7/updates.html"), PageTarget::PageView(FindingId(7), PageView::Updates));
        assert_eq!(get("localhost", "/findings/x/repair.html"), PageTarget::Page("findings/x/repair.html".into()));
    }

    #[test]
    fn paths_do_not_lead_out_of_the_report() {
        for url in ["/../etc/passwd", "/findings/../../x", "/%2e%2e/x", "//etc/../passwd"] {
            assert_eq!(get("localhost", url), PageTarget::Refused(404, "no such page"), "{url}");
        }
    }

    #[test]
    fn a_foreign_name_for_this_machine_is_refused() {
        assert_eq!(get("evil.example:7878", "/"), PageTarget::Refused(403, "ask for this page as localhost"));
        assert_eq!(target_of(&Method::Get, Some("lab-server:80"), "/live.js", Audience::Network), PageTarget::Script);
    }

    #[test]
    fn nothing_can_be_changed_from_the_browser() {
        assert!(matches!(target_of(&Method::Post, Some("localhost"), "/", Audience::Loopback), PageTarget::Refused(405, _)));
    }
}
