//! The tools of the component `replay`, each of which shows whether a handler that is run again sees
//! what it saw before (`tests/guests/replay/README.md`).

use serde_json::{Map, Value, json};

use crate::{Client, Task, accept};

/// One tool, and what comes of it if all is well and each question is answered with its key.
pub struct Subject {
    /// Its name.
    pub tool: &'static str,
    /// The keys of its questions, round by round.
    pub rounds: Vec<Vec<&'static str>>,
    /// How many rounds it asks before it becomes a task.
    pub before_task: usize,
    /// Its result's text, which is JSON.
    pub result: Value,
}

/// All of them.
pub fn subjects() -> Vec<Subject> {
    let steps: Vec<Value> = [1, 2, 3, 4, 4, 5]
        .map(|step| json!({"step": step, "fresh": true}))
        .to_vec();
    let go = |tool, result| Subject {
        tool,
        rounds: vec![vec!["go"]],
        before_task: 0,
        result,
    };
    vec![
        go(
            "clock",
            json!({"same": true, "ordered": true, "answer": "go"}),
        ),
        go("sleep", json!({"answer": "go", "slept": true})),
        go("poll", json!({"same": true, "answer": "go"})),
        go("random", json!({"same": true, "answer": "go"})),
        go("hash_map", json!({"same": true, "answer": "go"})),
        go("records", json!({"rounds": 45, "answer": "go"})),
        go("steps", json!({"steps": steps, "answer": "go"})),
        Subject {
            rounds: vec![vec!["first"], vec!["second"]],
            ..go("sequence", json!({"first": "first", "second": "second"}))
        },
        Subject {
            rounds: vec![vec!["left", "right"]],
            ..go("two_keys", json!({"left": "left", "right": "right"}))
        },
        Subject {
            rounds: vec![vec!["a"], vec!["b", "c"]],
            before_task: 1,
            ..go(
                "mixed",
                json!({
                    "same": true, "fresh": true, "ordered": true, "slept": true,
                    "answers": ["a", "b", "c"],
                }),
            )
        },
    ]
}

impl Subject {
    /// The answers of one round.
    pub fn answers(&self, round: usize) -> Value {
        let answers = self.rounds[round].iter();
        let answers: Map<String, Value> = answers
            .map(|key| ((*key).to_owned(), accept(key)))
            .collect();
        Value::Object(answers)
    }

    /// Makes a task of it, answering what it asks before.
    ///
    /// # Panics
    /// If it becomes none.
    pub async fn begin(&self, client: &Client) -> Task {
        let arguments = json!({"phase": "task"});
        match self.before_task {
            0 => client.task(self.tool, arguments).await,
            rounds => {
                let mut asked = client.asked(self.tool, arguments).await;
                for round in 0..rounds - 1 {
                    asked = asked.asked(self.answers(round)).await;
                }
                asked.task(self.answers(rounds - 1)).await
            }
        }
    }

    /// Compares a result with what it should be.
    ///
    /// # Panics
    /// If they differ.
    #[track_caller]
    pub fn check(&self, result: &Value) {
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        let told: Value = serde_json::from_str(text)
            .unwrap_or_else(|error| panic!("{}: {error}: {result}", self.tool));
        assert_eq!(told, self.result, "{}", self.tool);
    }
}
