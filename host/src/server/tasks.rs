//! `tasks/get`, `tasks/update`, `tasks/cancel` (SEP-2663).

use super::{MethodResult, acknowledge};
use crate::protocol::{Request, RpcError, object, string, success};
use crate::task::{Principal, Status, TaskError, TaskId, TaskView, Tasks};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Answers with the task, as soon as it does not work any more. One that works is waited for a while, so
/// that a short one is over at its client's first look, and a long one is asked for less often.
pub(super) async fn get(
    tasks: &Tasks,
    caller: &Principal,
    request: &Request<'_>,
    stopping: &CancellationToken,
) -> MethodResult {
    let id = task_id(request)?;
    // From before the look, so that no change is missed.
    let changes = tasks.listeners().watch(vec![id]);
    let mut task = tasks.get(caller, id).await?;
    if task.status == Status::Working {
        let wait = Duration::from_millis(tasks.limits().get_wait_ms);
        let changed = tokio::time::timeout(wait, changes.next());
        if let Some(Ok(_)) = stopping.run_until_cancelled(changed).await {
            task = tasks.get(caller, id).await?;
        }
    }
    Ok(success(request.id, TaskView::Result(id, &task)))
}

pub(super) async fn update(
    tasks: &Tasks,
    caller: &Principal,
    request: &Request<'_>,
) -> MethodResult {
    let id = task_id(request)?;
    let responses = request.params.input_responses;
    let responses = responses.ok_or_else(|| RpcError::invalid_params("Missing inputResponses"))?;
    let responses = object("inputResponses", responses)?;
    tasks.update(caller, id, responses).await?;
    Ok(acknowledge(request))
}

pub(super) async fn cancel(
    tasks: &Tasks,
    caller: &Principal,
    request: &Request<'_>,
) -> MethodResult {
    tasks.cancel(caller, task_id(request)?).await?;
    Ok(acknowledge(request))
}

/// The task id of a request. A text that cannot be an id is an unknown id.
fn task_id(request: &Request<'_>) -> Result<TaskId, RpcError> {
    let id = request
        .params
        .task_id
        .ok_or_else(|| RpcError::invalid_params("Missing taskId"))?;
    let id = string("taskId", id)?;
    TaskId::parse(&id).ok_or_else(|| TaskError::NotFound.into())
}
