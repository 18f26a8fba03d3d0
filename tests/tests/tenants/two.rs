//! Two tenants, one of which takes more than it may.

use cofferdam_tests::{Client, Config, Declares, Identity, Server};

/// Tenants `flood` and `calm`, with what is said of each.
pub(crate) struct Two {
    pub(crate) config: Config,
    flood: Identity,
    calm: Identity,
}

impl Two {
    pub(crate) fn new(flood_may: &str, calm_may: &str) -> Self {
        let (flood, calm) = (Identity::new("flood", "f"), Identity::new("calm", "c"));
        let config = Config::new(&format!(
            "[tenants.flood]\n{flood_may}\n[tenants.calm]\n{calm_may}\n{}{}",
            flood.entry, calm.entry
        ));
        Self {
            config,
            flood,
            calm,
        }
    }

    pub(crate) fn clients(&self, server: &Server) -> [Client; 2] {
        [&self.flood, &self.calm].map(|who| {
            server
                .client()
                .declaring(Declares::TasksAndForms)
                .bearing(&who.token)
        })
    }
}
