//! PostgreSQL as programs use it that put nothing together: one statement for each change of a task,
//! which commits by itself, from many writers over a few connections that do not wait for answers
//! before they send the next statement.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls, Statement};

use super::raw::Bytes;
use super::writers::drive;
use crate::load::Load;
use crate::stored::{Template, id};

pub(super) const CONNECTIONS: usize = 8;

const TABLE: &str = "
CREATE TABLE tasks (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id bytea NOT NULL UNIQUE,
    is_final boolean NOT NULL,
    due_at bigint,
    head text NOT NULL,
    result text,
    arguments text,
    setup text,
    entries bytea
) WITH (fillfactor = 80);
CREATE INDEX tasks_due ON tasks (due_at)";
const INSERT: &str = "INSERT INTO tasks (id, is_final, due_at, head, arguments, setup, entries)
    VALUES ($1, false, $2, $3, $4, $5, $6)";
const UPDATE: &str = "UPDATE tasks SET is_final = true, due_at = $2, head = $3, result = $4,
    arguments = NULL, setup = NULL, entries = NULL WHERE id = $1";

/// Tasks a second of so many writers on an empty database.
pub(super) async fn measure(
    load: Load,
    template: Arc<Template>,
    url: &str,
    writers: usize,
) -> Result<f64> {
    let first = connect(url).await?;
    first.batch_execute(TABLE).await?;
    let mut connections = Vec::new();
    for _ in 0..CONNECTIONS {
        connections.push(Connection::open(url).await?);
    }
    let connections: Arc<[Connection]> = connections.into();
    let written = drive(load, writers, move |number| {
        let (template, connections) = (Arc::clone(&template), Arc::clone(&connections));
        async move {
            let bytes = Bytes::of(&template, number)?;
            // Numbers of a writer are in a row: it goes from one connection to the next.
            let connection = &connections[number as usize % CONNECTIONS];
            connection.task(number, &bytes).await
        }
    });
    let written = written.await?;
    for number in written.last {
        let id = id(number);
        let values: &[&(dyn ToSql + Sync)] = &[&id.as_bytes().as_slice()];
        let has_ended = "SELECT is_final AND result IS NOT NULL FROM tasks WHERE id = $1";
        let has_ended: bool = first.query_one(has_ended, values).await?.try_get(0)?;
        ensure!(has_ended, "task {number} did not end");
    }
    Ok(written.rate)
}

struct Connection {
    client: Client,
    insert: Statement,
    update: Statement,
}

impl Connection {
    async fn open(url: &str) -> Result<Self> {
        let client = connect(url).await?;
        Ok(Self {
            insert: client.prepare(INSERT).await?,
            update: client.prepare(UPDATE).await?,
            client,
        })
    }

    async fn task(&self, number: u64, bytes: &Bytes) -> Result<()> {
        let Bytes {
            head,
            arguments,
            setup,
            entries,
            ended,
            result,
            due: [due, removed],
        } = bytes;
        let id = id(number);
        let id = id.as_bytes().as_slice();
        let values: &[&(dyn ToSql + Sync)] = &[&id, due, head, arguments, setup, entries];
        let inserted = self.client.execute(&self.insert, values).await?;
        ensure!(inserted == 1, "task {number} was not stored");
        let values: &[&(dyn ToSql + Sync)] = &[&id, removed, ended, result];
        let updated = self.client.execute(&self.update, values).await?;
        ensure!(updated == 1, "task {number} did not end");
        Ok(())
    }
}

async fn connect(url: &str) -> Result<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls)
        .await
        .context("cannot connect to PostgreSQL")?;
    // Its error is that of the statement that was under way.
    tokio::spawn(connection);
    Ok(client)
}
