//! The network, through the interfaces of WASI themselves: not every C library has sockets.

use cofferdam_guest::prelude::*;
use serde_json::json;
use wasip2::sockets::instance_network::instance_network;
use wasip2::sockets::ip_name_lookup::resolve_addresses;
use wasip2::sockets::network::{ErrorCode, IpAddressFamily, IpSocketAddress, Ipv4SocketAddress};
use wasip2::sockets::tcp_create_socket::create_tcp_socket;
use wasip2::sockets::udp_create_socket::create_udp_socket;

/// Tries to look up a name, to connect to and listen on a port of this machine, and to bind a UDP
/// socket, and tells what came of each: `done` or the error.
#[tool]
pub fn connect(port: u16) -> Result<ToolResult> {
    ToolResult::new().structured(&json!({
        "look-up": told(look_up()),
        "tcp-connect": told(tcp_connect(port)),
        "tcp-listen": told(tcp_listen()),
        "udp-bind": told(udp_bind()),
    }))
}

fn look_up() -> Result<(), ErrorCode> {
    let found = resolve_addresses(&instance_network(), "localhost")?;
    found.subscribe().block();
    found.resolve_next_address().map(drop)
}

fn tcp_connect(port: u16) -> Result<(), ErrorCode> {
    let socket = create_tcp_socket(IpAddressFamily::Ipv4)?;
    socket.start_connect(&instance_network(), local(port))?;
    socket.subscribe().block();
    socket.finish_connect().map(drop)
}

fn tcp_listen() -> Result<(), ErrorCode> {
    let socket = create_tcp_socket(IpAddressFamily::Ipv4)?;
    socket.start_bind(&instance_network(), local(0))?;
    socket.subscribe().block();
    socket.finish_bind()?;
    socket.start_listen()?;
    socket.subscribe().block();
    socket.finish_listen()
}

fn udp_bind() -> Result<(), ErrorCode> {
    let socket = create_udp_socket(IpAddressFamily::Ipv4)?;
    socket.start_bind(&instance_network(), local(0))?;
    socket.subscribe().block();
    socket.finish_bind()
}

fn local(port: u16) -> IpSocketAddress {
    IpSocketAddress::Ipv4(Ipv4SocketAddress {
        port,
        address: (127, 0, 0, 1),
    })
}

fn told(outcome: Result<(), ErrorCode>) -> String {
    match outcome {
        Ok(()) => "done".to_owned(),
        Err(error) => format!("error: {}", error.name()),
    }
}
