//! `wasi:sockets/ip-name-lookup`: only granted names, and only addresses that may be dialled.

use super::imports::Guest;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wasmtime::component::{Linker, Resource};
use wasmtime::{Result, StoreContextMut};
use wasmtime_wasi::p2::SocketError;
use wasmtime_wasi::p2::bindings::sockets::ip_name_lookup::{
    Host as _, HostResolveAddressStream as _, ResolveAddressStream,
};
use wasmtime_wasi::p2::bindings::sockets::network::{ErrorCode, IpAddress, Network};
use wasmtime_wasi::sockets::WasiSocketsView as _;

type Answer<T> = std::result::Result<T, ErrorCode>;

/// Links these functions instead of the usual ones.
pub(super) fn add_to_linker(linker: &mut Linker<Guest>) -> Result<()> {
    linker.allow_shadowing(true);
    let mut names = linker.instance("wasi:sockets/ip-name-lookup@0.2.12")?;
    names.func_wrap(
        "resolve-addresses",
        |mut store: StoreContextMut<'_, Guest>, (network, name): (Resource<Network>, String)| {
            Ok((store.data_mut().look_up(network, name)?,))
        },
    )?;
    names.func_wrap(
        "[method]resolve-address-stream.resolve-next-address",
        |mut store: StoreContextMut<'_, Guest>, (stream,): (Resource<ResolveAddressStream>,)| {
            Ok((store.data_mut().next_address(stream)?,))
        },
    )?;
    linker.allow_shadowing(false);
    Ok(())
}

fn told<T>(result: std::result::Result<T, SocketError>) -> Result<Answer<T>> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(error) => Ok(Err(error.downcast()?)),
    }
}

impl Guest {
    fn look_up(
        &mut self,
        network: Resource<Network>,
        name: String,
    ) -> Result<Answer<Resource<ResolveAddressStream>>> {
        if !self.names.may_ask(&name) {
            return Ok(Err(ErrorCode::AccessDenied));
        }
        let stream = told(self.sockets().resolve_addresses(network, name.clone()))?;
        if let Ok(stream) = &stream {
            self.names.asked.insert(stream.rep(), name);
        }
        Ok(stream)
    }

    fn next_address(
        &mut self,
        stream: Resource<ResolveAddressStream>,
    ) -> Result<Answer<Option<IpAddress>>> {
        let name = self.names.asked.get(&stream.rep()).cloned();
        let next = told(self.sockets().resolve_next_address(stream))?;
        if let (Ok(Some(address)), Some(name)) = (&next, name)
            && !self.names.learn(&name, ip(address))
        {
            return Ok(Err(ErrorCode::AccessDenied));
        }
        Ok(next)
    }
}

fn ip(address: &IpAddress) -> IpAddr {
    match *address {
        IpAddress::Ipv4((a, b, c, d)) => Ipv4Addr::new(a, b, c, d).into(),
        IpAddress::Ipv6((a, b, c, d, e, f, g, h)) => Ipv6Addr::new(a, b, c, d, e, f, g, h).into(),
    }
}
