//! The wire: what the server makes of every kind of HTTP request and JSON-RPC message, before any
//! tool is called.

mod accept;
mod bodies;
mod headers;
mod ladder;
mod methods;
mod origins;
mod params;
mod shapes;
