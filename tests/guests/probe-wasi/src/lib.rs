//! What a component sees that asks for everything WASI has: files, network, environment, streams,
//! clocks, random numbers, and host memory behind its handles.

mod handles;
mod network;
mod system;

cofferdam_guest::export!(
    system::reach,
    system::say,
    system::doze,
    system::files,
    network::connect,
    handles::pollables,
    handles::random,
);
