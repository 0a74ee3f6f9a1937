//! The report as a local web page over a running campaign: the same pages as the static report, made anew
//! when the database has changed, with live counts on top.
//!
//! Below a finding are two pages more, made when asked for: the control-flow graphs of wrong updates, and the
//! binary before and after a repair.
//!
//! Deliberately absent: any page of its own (they are `report`'s, `passes`' and `repair`'s) and any write to the
//! database. Only GET of these pages is answered, and only to requests that name this machine, so that a page
//! from elsewhere cannot read a campaign through the browser.

mod page;
mod request;
mod workshop;

use page::Pages;
use parking_lot::Mutex;
use request::{PageTarget, target_of};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tiny_http::{Header, Response, Server as Http};
use trueline_store::StoreError;
use workshop::Workshop;

/// Why nothing can be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is taken or not ours.
    #[error("cannot listen on {address}: {reason}; choose another with --listen")]
    Listen {
        /// The address that was asked for.
        address: SocketAddr,
        /// Why it cannot listen there.
        reason: String,
    },
    /// The campaign cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The report cannot be made.
    #[error(transparent)]
    Report(#[from] trueline_report::ReportError),
    /// A file cannot be written.
    #[error("cannot keep the pages: {0}")]
    Io(#[from] io::Error),
}

/// A web server over one database.
pub struct Server {
    http: Http,
    pages: Mutex<Pages>,
    workshop: Workshop,
    db: PathBuf,
    reach: Audience,
}

/// Who may ask this server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audience {
    /// Requests must name the loopback host.
    Loopback,
    /// The user chose to listen to others.
    Network,
}

impl Server {
    /// Listens; port 0 takes a free one.
    pub fn bind(address: SocketAddr, db: &Path) -> Result<Self, ServeError> {
        let pages = Pages::open(PathBuf::from(db))?;
        let http = Http::http(address).map_err(|e| ServeError::Listen { address, reason: e.to_string() })?;
        let reach = if address.ip().is_loopback() { Audience::Loopback } else { Audience::Network };
        Ok(Self { http, pages: Mutex::new(pages), workshop: Workshop::default(), db: db.to_owned(), reach })
    }

    /// The address that it listens on.
    pub fn address(&self) -> Option<SocketAddr> {
        self.http.server_addr().to_ip()
    }

    /// Answers until `stop` is set.
    pub fn run(&self, stop: &AtomicBool) -> Result<(), ServeError> {
        while !stop.load(Ordering::SeqCst) {
            if let Some(request) = self.http.recv_timeout(Duration::from_millis(200))? {
                let response = self.answer(&request);
                // A browser that went away is not our trouble.
                let _ = request.respond(response);
            }
        }
        Ok(())
    }

    fn answer(&self, request: &tiny_http::Request) -> Response<io::Cursor<Vec<u8>>> {
        let host = request.headers().iter().find(|h| h.field.equiv("Host")).map(|h| h.value.as_str());
        let mut pages = self.pages.lock();
        let result = match target_of(request.method(), host, request.url(), self.reach) {
            PageTarget::Live => pages.live().map(|body| (200, "application/json", body)),
            PageTarget::Script => Ok((200, "text/javascript", page::LIVE_SCRIPT.as_bytes().to_vec())),
            PageTarget::Page(name) => pages.read(&name).map(|page| match page {
                Some((kind, body)) => (200, kind, body),
                None => (404, "text/plain", b"no such page\n".to_vec()),
            }),
            PageTarget::PageView(id, view) => {
                Ok((200, "text/html; charset=utf-8", self.workshop.page(&self.db, id, view).as_bytes().to_vec()))
            }
            PageTarget::Refused(status, reason) => Ok((status, "text/plain", format!("{reason}\n").into_bytes())),
        };
        let (status, kind, body) = result.unwrap_or_else(|e| (500, "text/plain", format!("{e}\n").into_bytes()));
        let mut response = Response::from_data(body).with_status_code(status);
        for (name, value) in [
            ("Content-Type", kind),
            // A second lock behind the escaping: nothing from elsewhere, whatever a page says of itself.
            ("Content-Security-Policy", page::POLICY),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"),
            ("Cache-Control", "no-store"),
            ("Referrer-Policy", "no-referrer"),
        ] {
            response.add_header(Header::from_bytes(name, value).expect("plain ASCII"));
        }
        response
    }
}
