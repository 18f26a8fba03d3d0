//! A connection by `wasi:sockets`.

use cofferdam_guest::prelude::*;
use serde_json::json;
use wasip2::sockets::instance_network::instance_network;
use wasip2::sockets::ip_name_lookup::resolve_addresses;
use wasip2::sockets::network::{
    ErrorCode, IpAddress, IpAddressFamily, IpSocketAddress, Ipv4SocketAddress, Ipv6SocketAddress,
};
use wasip2::sockets::tcp_create_socket::create_tcp_socket;

/// Looks a name up, connects to its first address, says `ping`, and tells what it hears.
#[tool]
pub fn connect(host: String, port: u16) -> Result<ToolResult> {
    let outcome = look_up(&host)
        .map_err(|error| json!({ "look-up": error.name() }))
        .and_then(|address| {
            talk(address, port).map_err(|error| json!({ "connect": error.name() }))
        });
    let told = outcome.map_or_else(|error| error, |heard| json!({ "heard": heard }));
    ToolResult::new().structured(&told)
}

fn look_up(host: &str) -> Result<IpAddress, ErrorCode> {
    let found = resolve_addresses(&instance_network(), host)?;
    loop {
        match found.resolve_next_address() {
            Ok(Some(address)) => return Ok(address),
            Ok(None) => return Err(ErrorCode::NameUnresolvable),
            Err(ErrorCode::WouldBlock) => found.subscribe().block(),
            Err(error) => return Err(error),
        }
    }
}

fn talk(address: IpAddress, port: u16) -> Result<String, ErrorCode> {
    let (family, address) = match address {
        IpAddress::Ipv4(address) => (
            IpAddressFamily::Ipv4,
            IpSocketAddress::Ipv4(Ipv4SocketAddress { port, address }),
        ),
        IpAddress::Ipv6(address) => (
            IpAddressFamily::Ipv6,
            IpSocketAddress::Ipv6(Ipv6SocketAddress {
                port,
                flow_info: 0,
                address,
                scope_id: 0,
            }),
        ),
    };
    let socket = create_tcp_socket(family)?;
    socket.start_connect(&instance_network(), address)?;
    let (input, output) = loop {
        socket.subscribe().block();
        match socket.finish_connect() {
            Err(ErrorCode::WouldBlock) => {}
            connected => break connected?,
        }
    };
    let lost = |_| ErrorCode::ConnectionReset;
    output.blocking_write_and_flush(b"ping").map_err(lost)?;
    let heard = input.blocking_read(64).map_err(lost)?;
    Ok(String::from_utf8_lossy(&heard).into_owned())
}
