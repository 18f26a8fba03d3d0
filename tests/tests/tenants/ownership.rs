//! What is whose: a task, and the state of a call, belong to the tenant and the subject that began
//! them. To everybody else they are as if they had never been.

use cofferdam_tests::{Client, Config, Declares, Identity, Request, Server, accept};
use serde_json::{Value, json};

/// The owner, another subject of its tenant, and a subject of the same name in another tenant.
struct Callers {
    config: Config,
    owner: Identity,
    others: [Identity; 2],
}

impl Callers {
    fn new() -> Self {
        let owner = Identity::new("acme", "ada");
        let others = [Identity::new("acme", "alan"), Identity::new("solo", "ada")];
        let [alan, solo] = &others;
        let config = Config::new(&format!(
            "[tenants.acme]\n[tenants.solo]\n{}{}{}",
            owner.entry, alan.entry, solo.entry
        ));
        Self {
            config,
            owner,
            others,
        }
    }

    fn owner(&self, server: &Server) -> Client {
        client(server, &self.owner)
    }

    fn others(&self, server: &Server) -> [Client; 2] {
        self.others.each_ref().map(|other| client(server, other))
    }
}

fn client(server: &Server, identity: &Identity) -> Client {
    server
        .client()
        .declaring(Declares::TasksAndForms)
        .bearing(&identity.token)
}

/// An id that no task has, of the same shape as this one.
fn unknown(id: &str) -> String {
    let first = if id.starts_with('A') { "B" } else { "A" };
    format!("{first}{}", &id[1..])
}

/// The whole answer, bytes and headers, to a request that names this task.
async fn told(server: &Server, client: &Client, method: &str, id: &str) -> (u16, Value, Vec<u8>) {
    let params = match method {
        "tasks/update" => json!({"taskId": id, "inputResponses": {"k": accept("theirs")}}),
        _ => json!({"taskId": id}),
    };
    let request: Request = client.request(method, params).id(json!("same")).http();
    let response = request.send(server.address()).await;
    let names = response.headers.iter().filter(|(name, _)| *name != "date");
    let headers = names.map(|(name, value)| {
        (
            name.to_string(),
            json!(String::from_utf8_lossy(value.as_bytes())),
        )
    });
    let headers = Value::Object(headers.collect());
    (response.status, headers, response.bytes().await.to_vec())
}

#[tokio::test]
async fn anothers_task_is_an_unknown_task() {
    let callers = Callers::new();
    let server = Server::start(callers.config.probe()).await;
    let owner = callers.owner(&server);
    let asked = owner.task("ask", json!({"keys": ["k"]})).await;
    let ended = owner.task("finish", json!({})).await;
    let running = owner.task("wait", json!({})).await;
    asked.until("input_required").await;
    ended.until("completed").await;
    for other in callers.others(&server) {
        for task in [&asked, &ended, &running] {
            for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
                let foreign = told(&server, &other, method, task.id()).await;
                let missing = told(&server, &other, method, &unknown(task.id())).await;
                assert_eq!(foreign, missing, "{method}");
                let body = String::from_utf8_lossy(&foreign.2).into_owned();
                assert!(body.contains("-32602"), "{method}: {body}");
            }
        }
    }
    // Nothing came of all this.
    assert_eq!(asked.status().await, "input_required");
    assert_eq!(running.status().await, "working");
    asked.update(json!({"k": accept("mine")})).await;
    let end = asked.until("completed").await;
    assert!(end.to_string().contains("mine"), "{end}");
    running.cancel().await;
    running.until("cancelled").await;
}

// As it is after a restart, when everything comes from the disk.
#[tokio::test]
async fn what_was_anothers_stays_anothers() {
    let callers = Callers::new();
    let server = Server::start(callers.config.probe()).await;
    let task = callers
        .owner(&server)
        .task("ask", json!({"keys": ["k"]}))
        .await;
    task.until("input_required").await;
    let server = server.restart().await;
    for other in callers.others(&server) {
        for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
            let foreign = told(&server, &other, method, task.id()).await;
            let missing = told(&server, &other, method, &unknown(task.id())).await;
            assert_eq!(foreign, missing, "{method}");
        }
    }
    let owner = callers.owner(&server);
    owner
        .task_update(task.id(), json!({"k": accept("x")}))
        .await
        .result();
    let found = owner.task_get(task.id()).await;
    assert!(found.result()["status"].is_string());
}

#[tokio::test]
async fn nobody_hears_of_anothers_task() {
    let callers = Callers::new();
    let server = Server::start(callers.config.probe()).await;
    let owner = callers.owner(&server);
    for other in callers.others(&server) {
        let theirs = owner.task("ask", json!({"keys": ["k"]})).await;
        theirs.until("input_required").await;
        let own = other.task("ask", json!({"keys": ["k"]})).await;
        own.until("input_required").await;
        let filter = json!({"taskIds": [theirs.id(), own.id(), unknown(theirs.id())]});
        let listen = other.listen(filter).await;
        assert_eq!(listen.accepted(), &json!({"taskIds": [own.id()]}));
        // A stream on nothing but foreign or unknown tasks says the same of both.
        for id in [theirs.id().to_owned(), unknown(theirs.id())] {
            let listen = other.listen(json!({"taskIds": [id]})).await;
            assert_eq!(listen.accepted(), &json!({"taskIds": []}));
            assert_eq!(listen.rest().await, Vec::<Value>::new());
        }
        // The owner's task moves on while the other listens, and is heard by the owner only.
        let mut heard = owner.listen_to(&[&theirs]).await;
        theirs.update(json!({"k": accept("x")})).await;
        heard.until("completed").await;
        own.update(json!({"k": accept("x")})).await;
        let states = listen.rest().await;
        assert!(
            states.iter().all(|state| state["taskId"] == own.id()),
            "{states:?}"
        );
        assert_eq!(states.last().expect("a state")["status"], "completed");
    }
}

#[tokio::test]
async fn a_state_is_good_for_its_caller_only() {
    let callers = Callers::new();
    let server = Server::start(callers.config.probe()).await;
    let owner = callers.owner(&server);
    let arguments = json!({"keys": ["k"], "begin": "never"});
    let asked = owner.asked("ask", arguments).await;
    let answers = || json!({"k": accept("x")});
    let broken = asked.call(answers()).param("requestState", json!("broken"));
    let words = broken.answer().await.message(200, -32602).to_owned();
    for other in callers.others(&server) {
        let stolen = asked.through(&other).answer(answers()).await;
        assert_eq!(stolen.message(200, -32602), words);
    }
    asked.result(answers()).await;
}

// A task that was created without telling callers apart is nobody's once they are.
#[tokio::test]
async fn an_anonymous_task_is_no_tenants() {
    let callers = Callers::new();
    let server = Server::start(cofferdam_tests::Options::probe()).await;
    let task = server
        .client()
        .declaring(Declares::Tasks)
        .task("wait", json!({}))
        .await;
    let server = server.restart_with(callers.config.probe()).await;
    for client in callers
        .others(&server)
        .into_iter()
        .chain([callers.owner(&server)])
    {
        let foreign = told(&server, &client, "tasks/get", task.id()).await;
        let missing = told(&server, &client, "tasks/get", &unknown(task.id())).await;
        assert_eq!(foreign, missing);
    }
}
