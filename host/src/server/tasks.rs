//! `tasks/get`, `tasks/update`, `tasks/cancel` (SEP-2663).

use super::large::LargeBodies;
use super::{MethodResult, acknowledge};
use crate::protocol::{Request, RpcError, object, string, success};
use crate::task::{Principal, TaskError, TaskId, TaskView, Tasks};

pub(super) async fn get(tasks: &Tasks, caller: &Principal, request: &Request<'_>) -> MethodResult {
    let id = task_id(request)?;
    let task = tasks.get(caller, id).await?;
    Ok(success(request.id, TaskView::Result(id, &task)))
}

pub(super) async fn update(
    tasks: &Tasks,
    caller: &Principal,
    request: &Request<'_>,
    large: &LargeBodies,
) -> MethodResult {
    let id = task_id(request)?;
    let responses = request.params.input_responses;
    let responses = responses.ok_or_else(|| RpcError::invalid_params("Missing inputResponses"))?;
    let responses = large
        .work(responses.get().len(), || {
            object("inputResponses", responses)
        })
        .await?;
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
