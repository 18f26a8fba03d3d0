//! `cofferdam pull` and `cofferdam push`: components from registries to files, and back.

use crate::limits::COMPONENT_BYTES;
use crate::registry::{Client, Reference};
use crate::signature;
use anyhow::{Context as _, Result, bail};
use clap::Args;
use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// What `pull` is told.
#[derive(Args)]
pub struct PullArguments {
    /// oci://HOST[:PORT]/REPOSITORY[:TAG][@sha256:HEX]
    reference: Reference,
    /// The file to write. [default: the repository's last
    /// name with .wasm, here]
    #[arg(verbatim_doc_comment, long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    registry: RegistryArguments,
}

/// What `push` is told.
#[derive(Args)]
pub struct PushArguments {
    /// A .wasm component.
    #[arg(value_name = "FILE")]
    component: PathBuf,
    /// oci://HOST[:PORT]/REPOSITORY:TAG
    reference: Reference,
    /// Its minisign signature, to be kept with it.
    #[arg(long, value_name = "FILE")]
    signature: Option<PathBuf>,
    #[command(flatten)]
    registry: RegistryArguments,
}

#[derive(Args)]
struct RegistryArguments {
    /// Trust the authorities in this PEM file, in place of
    /// the usual ones. A registry on this machine is then
    /// spoken to with TLS, too
    #[arg(verbatim_doc_comment, long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
}

/// Pulls, writes, and prints the reference that pins what came.
pub fn pull(arguments: PullArguments) -> Result<()> {
    let client = Client::new(arguments.registry.ca_file.as_deref())?;
    let reference = arguments.reference;
    let output = arguments.output.unwrap_or_else(|| {
        let name = reference.repository().rsplit('/').next();
        PathBuf::from(format!("{}.wasm", name.unwrap_or_default()))
    });
    let pull = client.pull(&reference)?;
    let mut part = part(&output)?;
    let manifest = pull.component(&mut part)?;
    settle(part, &output)?;
    if let Some(text) = &manifest.signature {
        let output = signature::path(&output);
        let mut part = self::part(&output)?;
        part.write_all(text.as_bytes())
            .with_context(|| cannot_write(&output))?;
        settle(part, &output)?;
    }
    let output = output.display();
    let size = manifest.size;
    eprintln!("wrote {output} ({size} bytes, {})", manifest.component);
    println!("{}", reference.pinned(manifest.digest));
    Ok(())
}

/// Pushes, and prints the reference that pins it.
pub fn push(arguments: PushArguments) -> Result<()> {
    let client = Client::new(arguments.registry.ca_file.as_deref())?;
    let path = &arguments.component;
    let unreadable = || format!("cannot read {}", path.display());
    let size = fs::metadata(path).with_context(unreadable)?.len();
    if size > COMPONENT_BYTES {
        bail!(
            "{} has {size} bytes; the limit is {COMPONENT_BYTES} (COMPONENT_BYTES)",
            path.display()
        );
    }
    let component = fs::read(path).with_context(unreadable)?;
    let signature = arguments
        .signature
        .map(|path| signature::read(&path))
        .transpose()?;
    let pinned = client
        .push(&arguments.reference, &component, signature.as_deref())
        .with_context(|| path.display().to_string())?;
    println!("{pinned}");
    Ok(())
}

/// A file beside another, which takes its place when it is whole.
fn part(output: &Path) -> Result<NamedTempFile> {
    let folder = output.parent().filter(|it| !it.as_os_str().is_empty());
    // Readable as other files that a command writes; the umask counts.
    let part = tempfile::Builder::new()
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder.unwrap_or(Path::new(".")));
    part.with_context(|| cannot_write(output))
}

fn settle(part: NamedTempFile, output: &Path) -> Result<()> {
    part.persist(output).with_context(|| cannot_write(output))?;
    Ok(())
}

fn cannot_write(output: &Path) -> String {
    format!(
        "cannot write {}; choose another file with --output",
        output.display()
    )
}
