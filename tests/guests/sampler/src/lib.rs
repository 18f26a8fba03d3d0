//! The component of the end-to-end tests: each tool does one thing that a test needs done.

mod faults;
mod input;
mod plain;
mod tasks;

cofferdam_guest::export!(
    plain::echo, plain::contents, plain::structured, plain::header, plain::count, plain::sleep,
    plain::progress, plain::log_all, faults::allocate, faults::large, tasks::finish, tasks::wait,
    tasks::start, tasks::start_none, tasks::required, tasks::late, tasks::steps, input::ask,
);
