//! Connections to the database, and what becomes of what is sent over them.
//!
//! Invariants: nothing waits longer than its limit; a connection whose statement did not answer in time
//! is not used again; a connection that is gone is replaced when it is needed. A fault says whether
//! the change it stands for was made. Its reason is for the log: clients learn no host and no table.
//!
//! `tokio-postgres` is the plain driver, with prepared statements and pipelines and no macros;
//! `deadpool-postgres` is kept beside it, and adds a pool and a cache of statements, no more.

use super::address::Address;
use crate::limits::{DATABASE_CONNECT_TIME, DATABASE_CONNECTIONS, DATABASE_RETRIES, DATABASE_TIME};
use crate::store::StoreError;
use deadpool_postgres::{
    Manager, ManagerConfig, Object, PoolError, RecyclingMethod, Runtime, TimeoutType, Timeouts,
};
use std::error::Error as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio_postgres::error::{Severity, SqlState};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, Row, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

/// Values of a statement.
pub(super) type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

/// Connections to one database.
pub(super) struct Pool {
    pool: deadpool_postgres::Pool,
    line: Line,
    place: String,
    /// For one statement.
    time: Duration,
    /// The last that was heard of it was that it failed.
    down: AtomicBool,
}

/// Whether a change was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// No, whatever it was.
    Undone,
    /// No, and perhaps because of what it was.
    Refused,
    /// No, because of what others did at the same time.
    Again,
    /// Nobody knows.
    Unknown,
}

/// Why the database did not do something.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub(super) fate: Fate,
    /// For clients.
    told: &'static str,
    /// For the operator.
    why: String,
}

impl Fault {
    fn new(fate: Fate, told: &'static str, why: impl Into<String>) -> Self {
        let why = why.into();
        Self { fate, told, why }
    }

    /// Something in the database is not what this program wrote.
    pub(super) fn corrupt(what: &str, why: impl std::fmt::Display) -> Self {
        Self::new(
            Fate::Undone,
            "what it has cannot be read",
            format!("cannot read {what}: {why}"),
        )
    }

    /// True if it would have met anything else, too, that was asked at the same time.
    pub(super) fn is_of_all(&self) -> bool {
        matches!(self.fate, Fate::Undone | Fate::Unknown)
    }

    /// Others changed the same too often meanwhile.
    pub(super) fn crowded() -> Self {
        let told = "too many change the same at once";
        Self::new(Fate::Undone, told, told)
    }

    /// The connection was ended without a word.
    pub(super) fn closed() -> Self {
        let told = "the line to its database was lost";
        Self::new(Fate::Unknown, told, told)
    }

    /// No answer in time.
    pub(super) fn slow(time: Duration) -> Self {
        let told = "its database does not answer in time";
        let why = format!("no answer within {time:?}");
        Self::new(Fate::Unknown, told, why)
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.why)
    }
}

/// What the driver says, with its causes.
fn spelled(error: &tokio_postgres::Error) -> String {
    if let Some(error) = error.as_db_error() {
        return format!("{} (SQLSTATE {})", error.message(), error.code().code());
    }
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

impl From<tokio_postgres::Error> for Fault {
    fn from(error: tokio_postgres::Error) -> Self {
        let why = spelled(&error);
        let Some(database) = error.as_db_error() else {
            let cause = error.source().and_then(|cause| cause.downcast_ref());
            let is_lost = error.is_closed() || cause.is_some_and(|_: &std::io::Error| true);
            let told = match is_lost {
                true => "the line to its database was lost",
                false => "its database is not understood",
            };
            return Self::new(Fate::Unknown, told, why);
        };
        if database.parsed_severity() != Some(Severity::Error) {
            // It ends the session, perhaps after the change.
            return Self::new(Fate::Unknown, "its database stopped", why);
        }
        let (fate, told, advice) = match *database.code() {
            // The last: a node's lease ended while something was taken under it.
            SqlState::T_R_SERIALIZATION_FAILURE
            | SqlState::T_R_DEADLOCK_DETECTED
            | SqlState::FOREIGN_KEY_VIOLATION => {
                (Fate::Again, "too many change the same at once", "")
            }
            SqlState::DISK_FULL => (
                Fate::Undone,
                "its database has no room",
                "; make room on the database's disk",
            ),
            SqlState::READ_ONLY_SQL_TRANSACTION => (
                Fate::Undone,
                "its database takes no changes now",
                "; name the primary, or several hosts and target_session_attrs=read-write",
            ),
            SqlState::INSUFFICIENT_PRIVILEGE => (
                Fate::Undone,
                "its database does not let us",
                "; make its user the owner of a database that nothing else uses",
            ),
            SqlState::QUERY_CANCELED => (Fate::Undone, "its database does not answer in time", ""),
            _ => (Fate::Refused, "its database refused", ""),
        };
        Self::new(fate, told, format!("{why}{advice}"))
    }
}

impl From<PoolError> for Fault {
    fn from(error: PoolError) -> Self {
        let told = "its database cannot be reached";
        match error {
            PoolError::Backend(error) => {
                let advice = match error.code() {
                    Some(&SqlState::TOO_MANY_CONNECTIONS) => {
                        "; let it take more (max_connections), or run fewer servers"
                    }
                    Some(
                        &SqlState::INVALID_PASSWORD
                        | &SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
                    ) => "; check the user and the password, in the URL or in PGPASSWORD",
                    Some(&SqlState::UNDEFINED_DATABASE) => "; make it with createdb",
                    _ => "",
                };
                let why = format!("cannot connect: {}{advice}", spelled(&error));
                Self::new(Fate::Undone, told, why)
            }
            PoolError::Timeout(TimeoutType::Wait) => Self::new(
                Fate::Undone,
                "its database does not answer in time",
                format!("all {DATABASE_CONNECTIONS} connections were in use for too long"),
            ),
            error => Self::new(Fate::Undone, told, format!("cannot connect: {error}")),
        }
    }
}

impl Pool {
    /// For a database, with a limit of time for each statement; nothing is connected yet.
    ///
    /// # Errors
    /// What is wrong.
    pub(super) fn new(address: Address, time: Duration) -> Result<Self, String> {
        let method = ManagerConfig {
            recycling_method: RecyclingMethod::Fast,
        };
        let line = Line::new(&address);
        let manager = Manager::from_config(address.config, address.tls, method);
        let pool = deadpool_postgres::Pool::builder(manager)
            .max_size(DATABASE_CONNECTIONS)
            .timeouts(Timeouts {
                wait: Some(time),
                create: Some(DATABASE_CONNECT_TIME),
                recycle: Some(DATABASE_CONNECT_TIME),
            })
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(|error| error.to_string())?;
        Ok(Self {
            pool,
            line,
            place: address.place,
            time,
            down: AtomicBool::new(false),
        })
    }

    /// Which database, for people.
    pub(super) fn place(&self) -> &str {
        &self.place
    }

    /// How a connection is made that is none of the pool's.
    pub(super) fn line(&self) -> Line {
        self.line.clone()
    }

    /// A connection that was there a moment ago.
    pub(super) async fn get(&self) -> Result<Connection, Fault> {
        let object = self.pool.get().await?;
        let stuck = AtomicBool::new(false);
        Ok(Connection {
            object: Some(object),
            time: self.time,
            stuck,
        })
    }

    /// Does something with the database, some more times if others are in its way. What becomes of
    /// it is told in the log: that it fails, and that it does no more.
    pub(super) async fn attempt<T, F>(&self, mut work: impl FnMut() -> F) -> Result<T, Fault>
    where
        F: Future<Output = Result<T, Fault>>,
    {
        let mut tries = 0;
        let done = loop {
            match work().await {
                Err(fault) if fault.fate == Fate::Again && tries < DATABASE_RETRIES => tries += 1,
                done => break done,
            }
        };
        match &done {
            Ok(_) => {
                if self.down.load(Ordering::Relaxed) && self.down.swap(false, Ordering::Relaxed) {
                    tracing::info!("the task store works again ({})", self.place);
                }
            }
            Err(fault) => {
                if self.down.swap(true, Ordering::Relaxed) {
                    tracing::debug!("the task store ({}): {fault}", self.place);
                } else {
                    tracing::error!("the task store fails ({}): {fault}", self.place);
                }
            }
        }
        done
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        Self::Unavailable(fault.told.to_owned())
    }
}

/// How a connection is made that stays up.
#[derive(Clone)]
pub(super) struct Line {
    config: Config,
    tls: MakeRustlsConnect,
}

/// A connection and what drives it.
type Connected = (
    Client,
    tokio_postgres::Connection<Socket, <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream>,
);

impl Line {
    fn new(address: &Address) -> Self {
        let mut config = address.config.clone();
        // It is silent for long; that the other end is gone is to be noticed all the same.
        config.keepalives(true);
        config.keepalives_idle(DATABASE_TIME * 2);
        config.keepalives_interval(DATABASE_TIME);
        config.keepalives_retries(2);
        let tls = address.tls.clone();
        Self { config, tls }
    }

    pub(super) async fn connect(&self) -> Result<Connected, tokio_postgres::Error> {
        self.config.connect(self.tls.clone()).await
    }
}

/// A connection of the pool, which it goes back to.
pub(super) struct Connection {
    object: Option<Object>,
    time: Duration,
    stuck: AtomicBool,
}

impl Connection {
    /// The same, with another limit for each statement.
    pub(super) fn patient(self, time: Duration) -> Self {
        let mut patient = self;
        patient.time = time;
        patient
    }

    /// In a transaction: the database itself sets its statements no limit.
    pub(super) async fn no_timeout(&self) -> Result<(), Fault> {
        let none = "SET LOCAL statement_timeout = 0";
        self.batch(none, self.time).await
    }

    /// One prepared statement, within the time that it may take.
    pub(super) async fn query(&self, sql: &str, values: Values<'_>) -> Result<Vec<Row>, Fault> {
        let client = self.client()?;
        let answer = async {
            let statement = client.prepare_cached(sql).await?;
            client.query(&statement, values).await
        };
        self.within(self.time, answer).await
    }

    /// One that gives at most one row.
    pub(super) async fn row(&self, sql: &str, values: Values<'_>) -> Result<Option<Row>, Fault> {
        Ok(self.query(sql, values).await?.pop())
    }

    /// One that gives none. How many it changed.
    pub(super) async fn execute(&self, sql: &str, values: Values<'_>) -> Result<u64, Fault> {
        let client = self.client()?;
        let answer = async {
            let statement = client.prepare_cached(sql).await?;
            client.execute(&statement, values).await
        };
        self.within(self.time, answer).await
    }

    /// Statements without values, as long as they take up to a limit.
    pub(super) async fn batch(&self, sql: &str, time: Duration) -> Result<(), Fault> {
        self.within(time, self.client()?.batch_execute(sql)).await
    }

    /// Begins a transaction. Unless it is ended, the connection ends with it.
    pub(super) async fn begin(&self) -> Result<(), Fault> {
        self.stuck.store(true, Ordering::Relaxed);
        self.batch("BEGIN", self.time).await
    }

    /// Ends a transaction: all of it counts, or nothing.
    pub(super) async fn end<T>(&self, work: Result<T, Fault>) -> Result<T, Fault> {
        match work {
            Ok(done) => {
                self.batch("COMMIT", self.time).await?;
                self.stuck.store(false, Ordering::Relaxed);
                Ok(done)
            }
            Err(fault) => {
                // A connection on which something is stuck has been waited for long enough.
                let is_open = fault.fate != Fate::Unknown;
                if is_open && self.batch("ROLLBACK", self.time).await.is_ok() {
                    self.stuck.store(false, Ordering::Relaxed);
                }
                // Whatever its statements did, they were not committed.
                let fate = match fault.fate {
                    Fate::Unknown => Fate::Undone,
                    known => known,
                };
                Err(Fault { fate, ..fault })
            }
        }
    }

    fn client(&self) -> Result<&Object, Fault> {
        let gone = || Fault::slow(self.time);
        self.object.as_ref().ok_or_else(gone)
    }

    async fn within<T>(
        &self,
        time: Duration,
        answer: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Fault> {
        match tokio::time::timeout(time, answer).await {
            Ok(answer) => Ok(answer?),
            Err(_) => {
                self.stuck.store(true, Ordering::Relaxed);
                Err(Fault::slow(time))
            }
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.stuck.load(Ordering::Relaxed)
            && let Some(object) = self.object.take()
        {
            // Closed, not given back: its next user would wait behind what it still does.
            drop(Object::take(object));
        }
    }
}
