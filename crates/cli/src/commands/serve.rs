//! `trueline serve`: the report as a local web page over a running campaign.

use crate::exit::CommandEnding;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use trueline_serve::Server;

/// Show a campaign in the browser while it runs: the report's pages with live counts.
#[derive(clap::Args)]
pub struct Args {
    /// The database of the campaign.
    #[arg(long, value_name = "FILE", default_value = "hunt.db")]
    db: PathBuf,
    /// Where to listen. Anything but a loopback address shows the campaign to everybody who can reach it.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7878")]
    listen: SocketAddr,
}

/// Runs the command until it is interrupted.
pub fn run(args: Args) -> anyhow::Result<CommandEnding> {
    let server = Server::bind(args.listen, &args.db)?;
    match server.address() {
        Some(address) => println!("http://{address}/"),
        None => println!("listening on {}", args.listen),
    }
    static NEVER: AtomicBool = AtomicBool::new(false);
    server.run(&NEVER)?;
    Ok(CommandEnding::Clean)
}
