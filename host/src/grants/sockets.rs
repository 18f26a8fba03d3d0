//! TCP connections to named hosts. No listening, no UDP.
//!
//! Invariant: a connection goes to an address that the guest was given for a granted name, or that is
//! granted itself; and to no address that is not public unless that is granted, too.

use super::GrantError;
use super::destinations::{Addresses, Destination, Scheme};
use crate::places::{Place, Places};
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use wasmtime_wasi::WasiCtxBuilder;
use wasmtime_wasi::sockets::SocketAddrUse;

/// Where the components of a source may connect to.
#[derive(Debug)]
pub struct Sockets {
    destinations: Vec<Destination>,
    addresses: Addresses,
    /// Most connections of a call over its life.
    connections: usize,
}

/// What one instance learned and used of a grant.
pub(crate) struct Names {
    granted: Option<Granted>,
    /// The name that each look-up under way asked for.
    pub(crate) asked: HashMap<u32, String>,
}

#[derive(Clone)]
struct Granted {
    grant: Arc<Sockets>,
    learned: Arc<Mutex<Learned>>,
}

#[derive(Default)]
struct Learned {
    names: HashMap<IpAddr, HashSet<String>>,
    /// The tenant's, and those of them that this call took: it has them until it ends.
    places: Places,
    taken: Vec<Place>,
}

impl Sockets {
    /// Checks.
    ///
    /// # Errors
    /// [`GrantError`].
    pub fn new(
        hosts: &[String],
        private: &[String],
        connections: usize,
    ) -> Result<Self, GrantError> {
        let destinations = hosts.iter().map(|host| Destination::tcp(host));
        Ok(Self {
            destinations: destinations.collect::<Result<_, _>>()?,
            addresses: Addresses::new(private)?,
            connections,
        })
    }

    /// Where it leads.
    pub(super) fn destinations(&self) -> &[Destination] {
        &self.destinations
    }

    fn covers(&self, host: &str, port: u16) -> bool {
        let covers = |it: &Destination| it.covers(Scheme::Tcp, host, port);
        self.destinations.iter().any(covers)
    }

    fn may_connect(&self, address: SocketAddr, learned: &mut Learned) -> bool {
        let ip = address.ip().to_canonical();
        let names = learned.names.get(&ip);
        let named =
            names.is_some_and(|names| names.iter().any(|name| self.covers(name, address.port())));
        let may = (named || self.covers(&ip.to_string(), address.port()))
            && self.addresses.check(ip).is_ok()
            && learned.taken.len() < self.connections;
        let place = may.then(|| learned.places.take()).flatten();
        let may = place.is_some();
        learned.taken.extend(place);
        may
    }
}

impl Names {
    /// Of a new instance.
    pub(crate) fn new(grant: Option<Arc<Sockets>>, connections: &Places) -> Self {
        let granted = grant.map(|grant| Granted {
            grant,
            learned: Arc::new(Mutex::new(Learned {
                places: connections.clone(),
                ..Learned::default()
            })),
        });
        Self {
            granted,
            asked: HashMap::new(),
        }
    }

    /// Tells WASI what it may connect to.
    pub(crate) fn prepare(&self, wasi: &mut WasiCtxBuilder) {
        let granted = &self.granted;
        wasi.allow_tcp(granted.is_some())
            .allow_udp(false)
            .allow_ip_name_lookup(granted.is_some());
        if let Some(Granted { grant, learned }) = granted.clone() {
            wasi.socket_addr_check(move |address, used| {
                let may = match used {
                    SocketAddrUse::TcpConnect => grant.may_connect(address, &mut learned.lock()),
                    // What the system does by itself before it connects.
                    SocketAddrUse::TcpBind => address.ip().is_unspecified() && address.port() == 0,
                    _ => false,
                };
                Box::pin(async move { may })
            });
        }
    }

    /// May the name be looked up?
    pub(crate) fn may_ask(&self, name: &str) -> bool {
        let names = |it: &Granted| it.grant.destinations.iter().any(|it| it.names(name));
        self.granted.as_ref().is_some_and(names)
    }

    /// The guest is about to learn an address of a name. False: it must not.
    pub(crate) fn learn(&self, name: &str, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let Some(Granted { grant, learned }) = &self.granted else {
            return false;
        };
        let may = grant.addresses.check(address).is_ok();
        if may {
            let mut learned = learned.lock();
            let names = learned.names.entry(address).or_default();
            names.insert(name.to_owned());
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(hosts: &[&str], private: &[&str]) -> (Arc<Sockets>, Names) {
        let owned = |all: &[&str]| all.iter().map(|&it| it.to_owned()).collect::<Vec<_>>();
        let grant = Arc::new(Sockets::new(&owned(hosts), &owned(private), 2).unwrap());
        let names = Names::new(Some(Arc::clone(&grant)), &Places::default());
        (grant, names)
    }

    fn learned(names: &Names) -> &Mutex<Learned> {
        &names.granted.as_ref().unwrap().learned
    }

    #[test]
    fn an_address_is_reached_through_a_granted_name_only() {
        let (grant, names) = names(&["db.example.com:5432", "8.8.4.4:53"], &[]);
        assert!(names.may_ask("DB.example.com") && !names.may_ask("evil.example.com"));
        let connect = |address: &str| {
            grant.may_connect(address.parse().unwrap(), &mut learned(&names).lock())
        };
        assert!(!connect("8.8.8.8:5432"));
        assert!(names.learn("db.example.com", "8.8.8.8".parse().unwrap()));
        assert!(!connect("8.8.8.8:5433"));
        assert!(connect("8.8.8.8:5432"));
        assert!(connect("8.8.4.4:53"));
        assert!(!connect("8.8.4.4:53"), "two connections are the limit");
    }

    #[test]
    fn a_name_that_leads_to_this_machine_is_not_learned() {
        let (grant, names) = names(&["db.example.com:*", "127.0.0.1:*"], &[]);
        for bad in ["127.0.0.1", "::ffff:10.0.0.1", "169.254.169.254"] {
            assert!(
                !names.learn("db.example.com", bad.parse().unwrap()),
                "{bad}"
            );
        }
        let address = "127.0.0.1:1".parse().unwrap();
        assert!(!grant.may_connect(address, &mut learned(&names).lock()));
    }
}
