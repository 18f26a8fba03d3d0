//! Servers of others, and a browser, that are started here: Debian's, unpacked into `target/tools`, unless they are
//! installed.

use anyhow::{Result, bail};

use crate::checkout::Checkout;
use crate::debian;
use crate::process::{say, works};

/// A server, or another program.
pub(crate) struct Server {
    /// Its package.
    package: &'static str,
    is_installed: fn() -> bool,
}

pub(crate) const NGINX: Server = Server {
    package: "nginx",
    is_installed: cofferdam_nginx::is_installed,
};
pub(crate) const POSTGRES: Server = Server {
    package: "postgresql",
    is_installed: cofferdam_postgres::is_installed,
};
/// The browser that looks at the console.
pub(crate) const BROWSER: Server = Server {
    package: "chromium-headless-shell",
    is_installed: cofferdam_browser::is_installed,
};
/// The registry that tests push to and pull from.
pub(crate) const REGISTRY: Server = Server {
    package: "docker-registry",
    is_installed: || works("docker-registry"),
};

impl Server {
    /// Unpacks it, unless it is there or installed.
    pub(crate) fn install(&self, checkout: &Checkout) -> Result<()> {
        let package = self.package;
        let folder = checkout.target.join("tools").join(package);
        if folder.is_dir() || (self.is_installed)() {
            return Ok(());
        }
        if !debian::is_here() {
            bail!("{package} is missing: install it, so that its programs are on the PATH");
        }
        say!("unpacking Debian's {package} into {}", folder.display());
        debian::update();
        debian::install(package, &folder)
    }
}
