//! The unit of systemd that operators are given: systemd takes it as it is.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::checkout::Checkout;
use crate::process::{say, works};

const NAME: &str = "cofferdam.service";
/// Where the unit has the server, which is not there before it is installed.
const PROGRAM: &str = "/usr/local/bin/cofferdam";

/// Has `systemd-analyze` look at it, if that is here.
pub(super) fn verify(checkout: &Checkout) -> Result<()> {
    if !works("systemd-analyze") {
        say!("{NAME} is NOT verified: there is no systemd-analyze");
        return Ok(());
    }
    let file = checkout.root.join("deploy").join(NAME);
    say!("systemd-analyze verify {}", file.display());
    let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    ensure!(text.contains(PROGRAM), "{NAME} does not run {PROGRAM}");
    let folder = tempfile::tempdir()?;
    let copy = folder.path().join(NAME);
    fs::write(&copy, text.replace(PROGRAM, "/bin/true"))?;
    let verify = Command::new("systemd-analyze")
        .arg("verify")
        .arg(copy)
        .output()?;
    // What it does not know it passes over, and says so. Units of this machine are not ours.
    let said = String::from_utf8_lossy(&verify.stderr);
    let complaints: Vec<_> = said.lines().filter(|line| line.contains(NAME)).collect();
    if !complaints.is_empty() || !verify.status.success() {
        bail!("{NAME} ({}): {}", verify.status, complaints.join("; "));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{NAME, verify};
    use crate::checkout::Checkout;
    use crate::process::works;

    #[test]
    fn a_key_that_systemd_does_not_know_is_a_complaint() {
        if !works("systemd-analyze") {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let checkout = Checkout {
            root: folder.path().to_owned(),
            target: folder.path().to_owned(),
        };
        let unit = folder.path().join("deploy").join(NAME);
        std::fs::create_dir(unit.parent().unwrap()).unwrap();
        let write = |key: &str| {
            let text = format!("[Service]\nExecStart=/usr/local/bin/cofferdam serve\n{key}=yes\n");
            std::fs::write(&unit, text).unwrap();
        };
        write("PrivateTmp");
        verify(&checkout).unwrap();
        write("PrivateTemp");
        let error = verify(&checkout).unwrap_err().to_string();
        assert!(error.contains("PrivateTemp"), "{error}");
    }
}
