//! The component of the end-to-end tests: each tool does one thing that a test needs done.
//!
//! Errors of the contract are told under their names in `wit/`, see [`names`].

mod faults;
mod input;
mod kept;
mod names;
mod plain;
mod stream;
mod tasks;

cofferdam_guest::export!(
    plain::contents,
    plain::echo,
    plain::structured,
    plain::add,
    plain::header,
    plain::strict,
    plain::count,
    plain::features,
    stream::sleep,
    stream::progress,
    stream::log_each,
    stream::log_many,
    faults::allocate,
    faults::grow,
    faults::large,
    faults::large_log,
    tasks::finish,
    tasks::wait,
    tasks::steps,
    tasks::work,
    tasks::start,
    tasks::start_none,
    tasks::required,
    tasks::required_inline,
    tasks::late,
    input::ask,
    kept::keep,
    kept::retry,
);
