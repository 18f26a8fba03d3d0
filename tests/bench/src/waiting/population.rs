//! Many tasks that wait.
//!
//! Invariant: a task counts once it was seen to wait for its client.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;

use anyhow::{Context, Result};
use tokio::task::JoinSet;

use crate::load::connection::Connection;
use crate::load::message::{Call, first_number};
use crate::load::workload::{expect, member, until};

/// Connections, each with one task under way: enough for many tasks to share a flush of the disk.
const CONNECTIONS: usize = 64;

/// The tasks of a population: how many are to be made, and the ids of those that are.
struct Tasks {
    left: usize,
    ids: Vec<String>,
}

/// Makes so many tasks that wait. Gives their ids, in the order in which they came to wait.
pub(crate) async fn create(address: SocketAddr, tasks: usize) -> Result<Vec<String>> {
    let ids = Vec::with_capacity(tasks);
    let tasks = Rc::new(RefCell::new(Tasks { left: tasks, ids }));
    let mut clients = JoinSet::new();
    for number in 0..CONNECTIONS {
        clients.spawn_local(client(address, first_number(number), Rc::clone(&tasks)));
    }
    while let Some(ended) = clients.join_next().await {
        ended.context("a client")??;
    }
    let ids = std::mem::take(&mut tasks.borrow_mut().ids);
    Ok(ids)
}

/// Makes sure that these tasks wait.
pub(crate) async fn look(address: SocketAddr, tasks: &[&str]) -> Result<()> {
    let mut connection = Connection::open(address).await?;
    for (number, task) in (first_number(0)..).zip(tasks) {
        waits(&mut connection, task, number).await?;
    }
    Ok(())
}

/// Asks for a task until it waits.
async fn waits(connection: &mut Connection, task: &str, number: u64) -> Result<()> {
    let asked = r#""inputRequests":{"value":"#;
    until(connection, task, number, "input_required", asked).await?;
    Ok(())
}

async fn client(address: SocketAddr, first: u64, tasks: Rc<RefCell<Tasks>>) -> Result<()> {
    let mut connection = Connection::open(address).await?;
    let mut call = Call::ask();
    for number in first.. {
        {
            let mut tasks = tasks.borrow_mut();
            if tasks.left == 0 {
                break;
            }
            tasks.left -= 1;
        }
        let answer = connection.exchange(call.numbered(number)).await?;
        expect(answer, &format!(r#""id":{number}"#))?;
        expect(answer, r#""resultType":"task""#)?;
        let id = member(answer, r#""taskId":""#)?.to_owned();
        waits(&mut connection, &id, number).await?;
        tasks.borrow_mut().ids.push(id);
    }
    Ok(())
}
