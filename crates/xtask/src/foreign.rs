//! `cargo xtask foreign`: the clients in other languages. Their generated code is what `proto/` says, their
//! checks pass, and each plays a whole match against a running server.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context as _, bail};

use crate::generate::{self, Generated};
use crate::{lint, process, tool};

const PYTHON_DIR: &str = "sdk/python";
const TYPESCRIPT_DIR: &str = "sdk/typescript";
const PROTO_DIR: &str = "proto";
/// Where the API's package lies below `proto/` and below each generator's output.
const PACKAGE_DIR: &str = "whattheshell/v1";
/// Free for what the generators and the server write here.
const SCRATCH_DIR: &str = "target/foreign";

const GENERATED: [Generated; 2] = [
    Generated { dir: "sdk/python/src/whattheshell/v1", write: generate_python, task: "generate --sdks" },
    Generated {
        dir: "sdk/typescript/src/gen/whattheshell/v1",
        write: generate_typescript,
        task: "generate --sdks",
    },
];

/// What makes the generated modules a package.
const PYTHON_PACKAGE: &str =
    "\"\"\"The messages and clients of the package `whattheshell.v1`, generated from its protos.\"\"\"\n";

/// Checks the clients and lets each play.
///
/// # Errors
/// A tool cannot be installed, generated code is old, a check fails, or a match cannot be played.
pub(crate) fn run() -> anyhow::Result<()> {
    GENERATED.iter().try_for_each(generate::compare)?;
    // Both are checked before anything runs: a wrong type explains a wrong match.
    python(&["-m", "mypy"])?;
    python(&["-m", "unittest", "discover", "--start-directory", "tests"])?;
    npm(&["run", "build"])?;
    npm(&["test"])?;

    let server = Server::start()?;
    python(&["examples/play_match.py", &server.address])?;
    npm(&["run", "play", "--", &server.address])
}

/// Writes the generated code of both.
///
/// # Errors
/// A generator cannot be installed, or fails.
pub(crate) fn generate() -> anyhow::Result<()> {
    GENERATED.iter().try_for_each(generate::write)
}

fn generate_python(out: &Path) -> anyhow::Result<()> {
    let environment = python_environment()?;
    let scratch = empty_scratch("python")?;
    let outputs = ["python", "grpc_python", "mypy", "mypy_grpc"]
        .map(|generator| format!("--{generator}_out={}", scratch.display()));
    process::run(
        // mypy's generators are found through the path.
        with_path(&mut Command::new(environment.join("bin/python")), &environment.join("bin"))?
            .args(["-m", "grpc_tools.protoc", "--proto_path", PROTO_DIR])
            .args(outputs)
            .args(["--mypy_opt=quiet", "--mypy_grpc_opt=quiet"])
            .args(protos()?),
    )?;
    fs::write(out.join("__init__.py"), PYTHON_PACKAGE)?;
    copy_files(&scratch.join(PACKAGE_DIR), out)
}

fn generate_typescript(out: &Path) -> anyhow::Result<()> {
    let modules = node_modules()?;
    let scratch = empty_scratch("typescript")?;
    // `buf.gen.yaml` names its outputs as seen from `proto/`.
    let base = scratch.join(PROTO_DIR);
    fs::create_dir_all(&base)?;
    process::run(
        with_path(&mut Command::new(lint::buf()?), &modules.join(".bin"))?
            .args(["generate", "--output"])
            .arg(base)
            .current_dir(PROTO_DIR),
    )?;
    copy_files(&scratch.join(TYPESCRIPT_DIR).join("src/gen").join(PACKAGE_DIR), out)
}

/// Runs the Python of the client's environment in the client's folder.
fn python(arguments: &[&str]) -> anyhow::Result<()> {
    let environment = python_environment()?;
    process::run(
        Command::new(environment.join("bin/python"))
            .args(arguments)
            .current_dir(PYTHON_DIR)
            .env("PYTHONPATH", "src")
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("MYPY_CACHE_DIR", environment.join("mypy-cache")),
    )
}

fn npm(arguments: &[&str]) -> anyhow::Result<()> {
    node_modules()?;
    process::run(Command::new("npm").arg("--silent").args(arguments).current_dir(TYPESCRIPT_DIR))
}

fn python_environment() -> anyhow::Result<PathBuf> {
    let lock = Path::new(PYTHON_DIR).join("requirements.lock");
    let requirements =
        fs::read_to_string(&lock).with_context(|| format!("cannot read {}", lock.display()))?;
    tool::python_environment("python-sdk", &requirements)
}

/// The path of the packages that the TypeScript client's lock file names, installed first if need be.
fn node_modules() -> anyhow::Result<PathBuf> {
    let root = std::env::current_dir()?.join(TYPESCRIPT_DIR);
    let modules = root.join("node_modules");
    let installed = modules.join(".installed.json");
    let lock = fs::read(root.join("package-lock.json"))?;
    if fs::read(&installed).is_ok_and(|installed| installed == lock) {
        return Ok(modules);
    }
    let has_node = || {
        tool::answers(
            Command::new("node")
                .args(["--eval", "process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)"]),
        ) && tool::answers(Command::new("npm").arg("--version"))
    };
    tool::ensure("Node 18 or later with npm", has_node, &["nodejs", "npm"])?;
    process::run(
        Command::new("npm")
            .args(["ci", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"])
            .current_dir(root),
    )?;
    fs::write(installed, lock)?;
    Ok(modules)
}

/// A folder of our own below `target`, empty.
fn empty_scratch(name: &str) -> anyhow::Result<PathBuf> {
    let scratch = std::env::current_dir()?.join(SCRATCH_DIR).join(name);
    if scratch.exists() {
        fs::remove_dir_all(&scratch)?;
    }
    fs::create_dir_all(&scratch)?;
    Ok(scratch)
}

/// The protos of the API, as seen from the workspace root, in the order of their names.
fn protos() -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(Path::new(PROTO_DIR).join(PACKAGE_DIR))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<Vec<_>>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "proto"));
    paths.sort();
    Ok(paths)
}

fn copy_files(from: &Path, to: &Path) -> anyhow::Result<()> {
    for entry in fs::read_dir(from).with_context(|| format!("nothing was generated in {}", from.display()))? {
        let entry = entry?;
        fs::copy(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}

/// Makes `command` look for programs in `folder` first.
fn with_path<'a>(command: &'a mut Command, folder: &Path) -> anyhow::Result<&'a mut Command> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&path));
    Ok(command.env("PATH", std::env::join_paths(folders)?))
}

/// A server in development mode, on a free port; it ends with this value.
struct Server {
    child: Child,
    /// `http://` and where it listens.
    address: String,
    /// Held open: the server may print more.
    output: BufReader<ChildStdout>,
}

impl Server {
    fn start() -> anyhow::Result<Self> {
        let mut command = process::wts()?;
        command
            .args(["serve", "--dev", "--volatile", "--listen", "127.0.0.1:0", "--log", "warn"])
            // What it keeps is for this run alone.
            .current_dir(empty_scratch("server")?)
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let mut child = command
            .spawn()
            .with_context(|| format!("{}; build it by `cargo build`", process::start_failure(&command)))?;
        let Some(stdout) = child.stdout.take() else { bail!("the server has no output") };
        let mut server = Self { child, address: String::new(), output: BufReader::new(stdout) };
        let mut line = String::new();
        server.output.read_line(&mut line)?;
        let Some(address) = line.trim_end().strip_prefix("listening on ") else {
            bail!("the server did not say where it listens, but `{}`", line.trim_end());
        };
        address.clone_into(&mut server.address);
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has ended already, or there is nothing more to be done about it.
        self.child.kill().and_then(|()| self.child.wait()).ok();
    }
}
