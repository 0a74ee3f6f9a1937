//! A hunt on a real Slurm cluster: a controller and two nodes on this machine, started and stopped here.
//!
//! Skipped, with the reason printed, where Slurm is not installed or we are not root (its daemons refuse).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use trueline_store::Store;

const SHARDS: u32 = 8;

/// A private cluster; everything ends with the value.
struct Cluster {
    dir: PathBuf,
    daemons: Vec<Child>,
}

impl Cluster {
    fn start(dir: &Path) -> Result<Self, String> {
        for tool in ["munged", "slurmctld", "slurmd", "sbatch"] {
            let found = std::env::split_paths("/usr/sbin:/usr/bin:/sbin:/bin").any(|d| d.join(tool).exists());
            if !found {
                return Err(format!("{tool} is not installed (apt-get install slurmctld slurmd slurm-client munge)"));
            }
        }
        if !nix::unistd::geteuid().is_root() {
            return Err("Slurm's daemons need root".to_owned());
        }
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").map_err(|e| e.to_string())?;
        let host = host.trim().split('.').next().unwrap_or("localhost").to_owned();
        let mut cluster = Self { dir: dir.to_owned(), daemons: Vec::new() };
        std::fs::create_dir_all(dir.join("state")).map_err(|e| e.to_string())?;
        std::fs::write(dir.join("slurm.conf"), configuration(dir, &host)).map_err(|e| e.to_string())?;
        // Any bytes do for a key that lives as long as the test.
        let key: Vec<u8> = (0..1024u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        std::fs::write(dir.join("munge.key"), key).map_err(|e| e.to_string())?;
        std::fs::set_permissions(dir.join("munge.key"), std::os::unix::fs::PermissionsExt::from_mode(0o600)).map_err(|e| e.to_string())?;
        let at = |name: &str| format!("{}", dir.join(name).display());
        cluster.daemon(
            "munged",
            &[
                "--force".into(),
                "--foreground".into(),
                format!("--key-file={}", at("munge.key")),
                format!("--socket={}", at("munge.sock")),
                format!("--pid-file={}", at("munge.pid")),
                format!("--log-file={}", at("munge.log")),
                format!("--seed-file={}", at("munge.seed")),
            ],
        )?;
        cluster.wait("munged", || dir.join("munge.sock").exists())?;
        cluster.daemon("slurmctld", &["-D".into(), "-c".into()])?;
        for node in ["tl1", "tl2"] {
            cluster.daemon("slurmd", &["-D".into(), "-N".into(), node.into()])?;
        }
        cluster.wait("the nodes", || cluster.ask("sinfo", &["-h", "-o", "%D %t"]).trim() == "2 idle")?;
        Ok(cluster)
    }

    fn daemon(&mut self, program: &str, args: &[String]) -> Result<(), String> {
        let log = std::fs::File::create(self.dir.join(format!("{program}-{}.out", self.daemons.len()))).map_err(|e| e.to_string())?;
        let child = self.command(program).args(args).stdout(Stdio::null()).stderr(log).spawn().map_err(|e| format!("{program}: {e}"))?;
        self.daemons.push(child);
        Ok(())
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.dir.join("slurm.conf")).env("PATH", "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        command
    }

    fn ask(&self, program: &str, args: &[&str]) -> String {
        let output = self.command(program).args(args).output().expect("Slurm's client runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn wait(&self, what: &str, ready: impl Fn() -> bool) -> Result<(), String> {
        let started = Instant::now();
        while started.elapsed() < Duration::from_secs(120) {
            if ready() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        Err(format!("{what} did not come up"))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.ask("scancel", &["--user=root"]);
        for child in self.daemons.iter_mut().rev() {
            // SAFETY: a signal to a child of ours that has not been reaped.
            unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
            let started = Instant::now();
            while child.try_wait().is_ok_and(|status| status.is_none()) && started.elapsed() < Duration::from_secs(10) {
                std::thread::sleep(Duration::from_millis(100));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn configuration(dir: &Path, host: &str) -> String {
    let d = dir.display();
    // Ports apart from Slurm's own, so that a cluster which this machine may belong to is left alone.
    format!(
        "ClusterName=trueline\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser=root\nSlurmdUser=root\nAuthType=auth/munge\nCredType=cred/munge\n\
         AuthInfo=socket={d}/munge.sock\nSlurmctldPort=26817\nStateSaveLocation={d}/state\nSlurmdSpoolDir={d}/spool-%n\n\
         SlurmctldPidFile={d}/ctld.pid\nSlurmdPidFile={d}/slurmd-%n.pid\nSlurmctldLogFile={d}/ctld.log\nSlurmdLogFile={d}/slurmd-%n.log\n\
         ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSwitchType=switch/none\nMpiDefault=none\n\
         JobAcctGatherType=jobacct_gather/none\nAccountingStorageType=accounting_storage/none\nSelectType=select/cons_tres\n\
         SelectTypeParameters=CR_Core\nReturnToService=2\nKillWait=2\nSchedulerParameters=bf_interval=1,sched_interval=1,batch_sched_delay=0\n\
         SlurmdParameters=config_overrides\n\
         NodeName=tl[1-2] NodeHostname={host} NodeAddr=127.0.0.1 Port=[26821-26822] CPUs=1 RealMemory=1000 State=UNKNOWN\n\
         PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n"
    )
}

fn hunt(cluster: &Cluster, db: &Path, more: &[&str]) -> Command {
    let mut command = cluster.command(env!("CARGO_BIN_EXE_trueline"));
    command.args([
        "hunt",
        "--generator",
        "weave",
        "--cc",
        "gcc",
        "--opt=-O2",
        "--seeds",
        "1..9",
        "--confirm",
        "none",
        "--validate",
        "none",
        "--jobs",
        "1",
        "--no-report",
    ]);
    command.arg("--db").arg(db).args(more).env("HOME", &cluster.dir);
    command
}

/// What a campaign did and found, without times and numbers that depend on who did it when.
fn content(db: &Path) -> (Vec<String>, BTreeMap<String, usize>) {
    let store = Store::open_existing(db).expect("the database opens");
    assert_eq!(store.integrity().expect("the check runs"), "ok");
    let units = store
        .units()
        .expect("units")
        .into_iter()
        .map(|u| format!("{} {} {} {} {}", u.program, u.compiler, u.opt, u.state, u.findings))
        .collect();
    let mut findings = BTreeMap::new();
    for record in store.findings().expect("findings") {
        *findings.entry(format!("{} {}", record.kind(), serde_json::to_string(&record.finding.fault).expect("JSON"))).or_default() += 1;
    }
    (units, findings)
}

#[test]
fn an_array_with_a_killed_task_and_a_drained_node_finds_what_one_machine_finds() {
    let scratch = trueline_toolchain::Scratch::new().expect("a scratch directory");
    let cluster = match Cluster::start(&scratch.join("cluster")) {
        Ok(cluster) => cluster,
        Err(reason) => {
            println!("skipped: {reason}");
            return;
        }
    };
    let (alone, array) = (scratch.join("alone.db"), scratch.join("array.db"));
    let status = hunt(&cluster, &alone, &[]).stdout(Stdio::null()).status().expect("trueline runs");
    assert!(status.success());

    let shards = SHARDS.to_string();
    let mut running = hunt(&cluster, &array, &["--on", "slurm", "--array", &shards]).stdout(Stdio::null()).spawn().expect("trueline runs");
    // One task is killed in the middle, one node is taken away with what runs on it.
    cluster.wait("a task", || !cluster.ask("squeue", &["-h", "-t", "running", "-o", "%A"]).trim().is_empty()).expect("tasks run");
    let victim = cluster.ask("squeue", &["-h", "-t", "running", "-o", "%A"]).lines().next().unwrap_or("").trim().to_owned();
    cluster.ask("scancel", &["--signal=KILL", "--full", &victim]);
    cluster.ask("scontrol", &["update", "NodeName=tl2", "State=DRAIN", "Reason=test"]);
    let status = running.wait().expect("trueline ends");
    assert!(status.success(), "the array was not completed");

    let (expected, got) = (content(&alone), content(&array));
    assert_eq!(got.1, expected.1, "findings differ");
    assert_eq!(got.0, expected.0, "units differ");
    println!("{} units, {} findings, task {victim} killed, node tl2 drained", got.0.len(), got.1.values().sum::<usize>());
}
