//! `cargo xtask lint`: `buf lint` and `buf format` over `proto/`, with a buf of one pinned version.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

use crate::process;

/// The buf that `proto/buf.yaml` is written for. Another version may know other rules and another layout.
const BUF_VERSION: &str = "1.75.0";

const PROTO_DIR: &str = "proto";

/// Lints the protos and formats them, or, with `check`, only shows what formatting would change.
///
/// # Errors
/// buf cannot be installed, a rule is broken, or, with `check`, a file is not formatted.
pub(crate) fn run(check: bool) -> anyhow::Result<()> {
    let buf = buf()?;
    let call = |args: &[&str]| process::run(Command::new(&buf).args(args).current_dir(PROTO_DIR));
    call(&["lint"])?;
    if check {
        call(&["format", "--diff", "--exit-code"]).context("run `cargo xtask lint` to format the protos")
    } else {
        call(&["format", "--write"])
    }
}

/// The path of buf, installed into `target/tools` first if it is not there.
fn buf() -> anyhow::Result<PathBuf> {
    let venv = std::env::current_dir()?.join("target/tools").join(format!("buf-{BUF_VERSION}"));
    let buf = venv.join("bin/buf");
    if prints_version(&buf) {
        return Ok(buf);
    }
    ensure_venv_module()?;
    process::run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&venv))?;
    process::run(
        Command::new(venv.join("bin/python"))
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "--only-binary",
                ":all:",
            ])
            .arg(format!("buf-bin=={BUF_VERSION}")),
    )
    .context("cannot install buf from its Python package `buf-bin`")?;
    if !prints_version(&buf) {
        bail!(
            "{} does not run after its installation; remove {} and try again",
            buf.display(),
            venv.display()
        );
    }
    Ok(buf)
}

fn prints_version(buf: &Path) -> bool {
    let output = Command::new(buf).arg("--version").stdin(Stdio::null()).output();
    output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).trim() == BUF_VERSION)
}

/// Debian splits Python's venv module off, and may have no Python at all.
fn ensure_venv_module() -> anyhow::Result<()> {
    let succeeds = |program: &str, args: &[&str]| {
        let output = Command::new(program).args(args).stdin(Stdio::null()).output();
        output.is_ok_and(|output| output.status.success())
    };
    if succeeds("python3", &["-c", "import ensurepip, venv"]) {
        return Ok(());
    }
    if !succeeds("sh", &["-c", r#"command -v apt-get && test "$(id -u)" = 0"#]) {
        bail!("linting the protos needs Python's venv module: install python3-venv");
    }
    process::run(Command::new("apt-get").args(["update", "--quiet"]))?;
    process::run(
        Command::new("apt-get")
            .args(["install", "--quiet", "--yes", "--no-install-recommends", "python3-venv"])
            .env("DEBIAN_FRONTEND", "noninteractive"),
    )
}
