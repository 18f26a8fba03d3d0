//! Tasks that wait for their client, for the studies of them: making many, hearing of them on a stream,
//! and having them go on.

pub(crate) mod population;
pub(crate) mod resume;
pub(crate) mod stream;
