//! Where a guest may connect to: names first, and then the addresses that stand behind them.
//!
//! Invariant: what is not on the list is refused; and what is on it is refused all the same if it
//! leads to an address that is no public one, unless the operator named that address, too. Whoever
//! controls a name can point it anywhere.

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// Why a destination or a network of the configuration is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DestinationError {
    /// No host, or one that is neither a name nor an address.
    #[error(
        "{0:?} is no destination: give a host name, *.example.com, an address or *, with :port or \
         :* after it if it is not the usual port"
    )]
    Host(String),
    /// A scheme that cannot be spoken.
    #[error("{0:?}: the scheme is {1}")]
    Scheme(String, &'static str),
    /// A port that is needed, or is none.
    #[error("{0:?}: give a port from 1 to 65535, or :* for all")]
    Port(String),
    /// No network.
    #[error(
        "{0:?} is no network: give an address, or one with the length of its prefix, 10.0.0.0/8"
    )]
    Network(String),
}

/// Hosts by name.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Host {
    /// Any.
    Any,
    /// Names that end so; the text begins with a dot.
    Below(String),
    /// This one, in lower case.
    One(String),
}

/// Ports by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Port {
    Any,
    One(u16),
}

/// One entry of a list of destinations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    scheme: Scheme,
    host: Host,
    port: Port,
}

/// What is spoken there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// HTTP over TLS.
    Https,
    /// HTTP in the clear.
    Http,
    /// Whatever the guest speaks, over TCP.
    Tcp,
}

impl Scheme {
    fn usual_port(self) -> Option<u16> {
        match self {
            Self::Https => Some(443),
            Self::Http => Some(80),
            Self::Tcp => None,
        }
    }
}

impl Destination {
    /// Reads `[https://|http://]HOST[:PORT]`; without a scheme it is `https`.
    ///
    /// # Errors
    /// [`DestinationError`].
    pub fn http(text: &str) -> Result<Self, DestinationError> {
        let (scheme, rest) = match text.split_once("://") {
            None => (Scheme::Https, text),
            Some(("https", rest)) => (Scheme::Https, rest),
            Some(("http", rest)) => (Scheme::Http, rest),
            Some(_) => return Err(DestinationError::Scheme(text.into(), "https or http")),
        };
        Self::parse(text, rest, scheme)
    }

    /// Reads `[tcp://]HOST:PORT`.
    ///
    /// # Errors
    /// [`DestinationError`].
    pub fn tcp(text: &str) -> Result<Self, DestinationError> {
        let rest = match text.split_once("://") {
            None => text,
            Some(("tcp", rest)) => rest,
            Some(_) => return Err(DestinationError::Scheme(text.into(), "tcp")),
        };
        Self::parse(text, rest, Scheme::Tcp)
    }

    fn parse(text: &str, rest: &str, scheme: Scheme) -> Result<Self, DestinationError> {
        let bad_host = || DestinationError::Host(text.to_owned());
        let bad_port = || DestinationError::Port(text.to_owned());
        let bracketed = rest.strip_prefix('[').map(|rest| rest.split_once(']'));
        let (host, port) = match bracketed {
            Some(None) => return Err(bad_host()),
            Some(Some((host, ""))) => (host, None),
            Some(Some((host, port))) => (host, Some(port.strip_prefix(':').ok_or_else(bad_host)?)),
            None => match rest.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (rest, None),
            },
        };
        let host = match host {
            "*" => Host::Any,
            _ => match host.strip_prefix('*') {
                Some(end) if end.starts_with('.') && is_host(&end[1..]) => {
                    Host::Below(canonical(end))
                }
                Some(_) => return Err(bad_host()),
                None if is_host(host) => Host::One(canonical(host)),
                None => return Err(bad_host()),
            },
        };
        let port = match port {
            None => Port::One(scheme.usual_port().ok_or_else(bad_port)?),
            Some("*") => Port::Any,
            Some(port) => match port.parse() {
                Ok(0) | Err(_) => return Err(bad_port()),
                Ok(port) => Port::One(port),
            },
        };
        Ok(Self { scheme, host, port })
    }

    /// Is it this host? Addresses are without brackets.
    #[must_use]
    pub fn names(&self, host: &str) -> bool {
        let host = canonical(host);
        match &self.host {
            Host::Any => true,
            Host::Below(end) => host.len() > end.len() && host.ends_with(end.as_str()),
            Host::One(one) => *one == host,
        }
    }

    /// Does it stand for this?
    #[must_use]
    pub fn covers(&self, scheme: Scheme, host: &str, port: u16) -> bool {
        let port_fits = match self.port {
            Port::Any => true,
            Port::One(one) => one == port,
        };
        self.scheme == scheme && port_fits && self.names(host)
    }
}

/// Letters of a name without a difference that DNS does not make; an address in its usual form.
fn canonical(host: &str) -> String {
    match host.parse::<IpAddr>() {
        Ok(address) => address.to_string(),
        Err(_) => host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase(),
    }
}

fn is_host(host: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let name = !host.is_empty() && host.len() <= 253 && host.bytes().all(fits);
    (name && !host.starts_with('.') && !host.contains("..")) || host.parse::<Ipv6Addr>().is_ok()
}

/// Which addresses may be dialled: the public ones, and those the operator named.
#[derive(Clone, Debug, Default)]
pub struct Addresses {
    also: Vec<IpNet>,
}

/// An address that may not be dialled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is no public address")]
pub struct NotPublic(pub IpAddr);

impl Addresses {
    /// The public ones, and these: addresses, or networks with the length of their prefix.
    ///
    /// # Errors
    /// [`DestinationError::Network`].
    pub fn new(also: &[String]) -> Result<Self, DestinationError> {
        let network = |text: &String| {
            let network = IpNet::from_str(text).ok();
            let network = network.or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
            network.ok_or_else(|| DestinationError::Network(text.clone()))
        };
        Ok(Self {
            also: also.iter().map(network).collect::<Result<_, _>>()?,
        })
    }

    /// Looks at one address.
    ///
    /// # Errors
    /// [`NotPublic`].
    pub fn check(&self, address: IpAddr) -> Result<(), NotPublic> {
        // An IPv4 address in IPv6 clothes reaches what the IPv4 address reaches.
        let canonical = address.to_canonical();
        let named = self.also.iter().any(|net| net.contains(&canonical));
        if named || is_public(address) {
            Ok(())
        } else {
            Err(NotPublic(address))
        }
    }
}

/// By IANA's registries of special-purpose addresses: what no public host has, and what carries an
/// IPv4 address inside (mapped, NAT64, 6to4, Teredo), which may be one of them.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !NOT_PUBLIC_V4.iter().any(|net| net.contains(&address)),
        IpAddr::V6(address) => {
            GLOBAL_UNICAST.contains(&address)
                && !NOT_PUBLIC_V6.iter().any(|net| net.contains(&address))
        }
    }
}

const fn v4(a: u8, b: u8, c: u8, prefix: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, 0), prefix)
}

const fn v6(a: u16, b: u16, prefix: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, 0, 0, 0, 0, 0, 0), prefix)
}

const NOT_PUBLIC_V4: [Ipv4Net; 16] = [
    v4(0, 0, 0, 8),       // this network
    v4(10, 0, 0, 8),      // private
    v4(100, 64, 0, 10),   // carriers' address translation
    v4(127, 0, 0, 8),     // loopback
    v4(169, 254, 0, 16),  // link-local, and the metadata services of clouds
    v4(172, 16, 0, 12),   // private
    v4(192, 0, 0, 24),    // protocol assignments
    v4(192, 0, 2, 24),    // documentation
    v4(192, 88, 99, 24),  // 6to4 relays
    v4(192, 168, 0, 16),  // private
    v4(198, 18, 0, 15),   // benchmarks
    v4(198, 51, 100, 24), // documentation
    v4(203, 0, 113, 24),  // documentation
    v4(224, 0, 0, 4),     // multicast
    v4(240, 0, 0, 4),     // reserved, and broadcast
    v4(168, 63, 129, 24), // a cloud's host agent
];

/// Everything else in IPv6 is loopback, local, mapped, NAT64, multicast or unassigned.
const GLOBAL_UNICAST: Ipv6Net = v6(0x2000, 0, 3);

const NOT_PUBLIC_V6: [Ipv6Net; 4] = [
    v6(0x2001, 0, 23),      // protocol assignments, Teredo
    v6(0x2001, 0x0db8, 32), // documentation
    v6(0x2002, 0, 16),      // 6to4
    v6(0x3fff, 0, 20),      // documentation
];

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://", self.scheme)?;
        match &self.host {
            Host::Any => f.write_str("*")?,
            Host::Below(end) => write!(f, "*{end}")?,
            Host::One(one) if one.contains(':') => write!(f, "[{one}]")?,
            Host::One(one) => f.write_str(one)?,
        }
        match self.port {
            Port::Any => f.write_str(":*"),
            Port::One(port) if self.scheme.usual_port() == Some(port) => Ok(()),
            Port::One(port) => write!(f, ":{port}"),
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Https => "https",
            Self::Http => "http",
            Self::Tcp => "tcp",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn https(pattern: &str, host: &str, port: u16) -> bool {
        let destination = Destination::http(pattern).unwrap();
        destination.covers(Scheme::Https, host, port)
    }

    #[test]
    fn names_stand_for_themselves_and_stars_for_what_is_below() {
        assert!(https("api.example.com", "API.example.com.", 443));
        assert!(!https("api.example.com", "api.example.com", 444));
        assert!(!https("api.example.com", "api.example.com.evil.org", 443));
        assert!(!https("api.example.com", "xapi.example.com", 443));
        assert!(https("*.example.com:8443", "a.b.example.com", 8443));
        assert!(!https("*.example.com", "example.com", 443));
        assert!(!https("*.example.com", ".example.com", 443));
        assert!(!https("*.example.com", "evilexample.com", 443));
        assert!(https("*:*", "anything", 1));
        assert!(https("[2001:DB8::1]:443", "2001:db8:0::1", 443));
        let plain = Destination::http("http://localhost:8080").unwrap();
        assert!(plain.covers(Scheme::Http, "localhost", 8080));
        assert!(!plain.covers(Scheme::Https, "localhost", 8080));
    }

    #[test]
    fn what_is_no_destination_is_refused() {
        for bad in [
            "", "ftp://a", "a b", "*a.com", "a.*", "a:0", "a:70000", "a:x", "[::1", "[::1]x",
            "a/path", "u@a", "..a", ".a", "a..b", "https://",
        ] {
            assert!(Destination::http(bad).is_err(), "{bad}");
        }
        assert!(Destination::tcp("db.example.com").is_err());
        assert!(Destination::tcp("https://db.example.com:1").is_err());
        assert!(Destination::tcp("tcp://db.example.com:5432").is_ok());
    }

    #[test]
    fn only_public_addresses_may_be_dialled() {
        let addresses = Addresses::default();
        for bad in [
            "127.0.0.1",
            "127.255.0.1",
            "0.0.0.0",
            "10.1.2.3",
            "172.31.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.100.100.200",
            "168.63.129.16",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "::7f00:1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::a00:1",
            "2002:7f00:1::",
            "2001::1",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "2001:db8::1",
            "3fff::1",
            "fec0::1",
            "100::1",
        ] {
            assert!(addresses.check(bad.parse().unwrap()).is_err(), "{bad}");
        }
        for good in [
            "8.8.8.8",
            "172.32.0.1",
            "100.128.0.1",
            "2606:4700::1111",
            "2001:4860::8888",
        ] {
            assert!(addresses.check(good.parse().unwrap()).is_ok(), "{good}");
        }
    }

    #[test]
    fn the_operator_may_name_others() {
        let also = [
            "127.0.0.1".to_owned(),
            "10.1.0.0/16".to_owned(),
            "::1".to_owned(),
        ];
        let addresses = Addresses::new(&also).unwrap();
        for good in ["127.0.0.1", "::ffff:127.0.0.1", "10.1.9.9", "::1"] {
            assert!(addresses.check(good.parse().unwrap()).is_ok(), "{good}");
        }
        for bad in ["127.0.0.2", "10.2.0.1", "fe80::1"] {
            assert!(addresses.check(bad.parse().unwrap()).is_err(), "{bad}");
        }
        assert!(Addresses::new(&["10.0.0.0/33".to_owned()]).is_err());
        assert!(Addresses::new(&["host".to_owned()]).is_err());
    }
}
