//! The operator's way to a running server: its admin address.

use crate::admin::DEFAULT_ADDRESS;
use clap::Args;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::env;
use std::time::Duration;

/// The variable that holds the token of the admin address.
const TOKEN: &str = "COFFERDAM_ADMIN_TOKEN";
/// Time for a connection, and for an answer that needs no work.
const PATIENCE: Duration = Duration::from_secs(10);
/// Largest answer that is read, bytes.
const ANSWER_BYTES: u64 = 64 << 20;

/// Which server, as it was typed.
#[derive(Args, Clone, Debug)]
pub struct Operator {
    /// The server's admin address. A token for it is taken from COFFERDAM_ADMIN_TOKEN.
    #[arg(long, value_name = "URL", default_value_t = format!("http://{DEFAULT_ADDRESS}"))]
    pub admin: String,
}

/// Why the server did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    /// Nobody answers.
    #[error(
        "no server answers at {0}: {1}; start one, or name its admin address with --admin URL (the \
         server prints it when it starts)"
    )]
    Unreachable(String, ureq::Error),
    /// It wants a token, or another one.
    #[error(
        "the server at {0} wants its admin token: set COFFERDAM_ADMIN_TOKEN to the one whose hash is \
         token-sha256 in [admin] of its configuration"
    )]
    Token(String),
    /// It refuses, in its words.
    #[error("the server at {0} answers {1}: {2}")]
    Refused(String, u16, String),
    /// Something else is there.
    #[error("what answers at {0} is no admin address of this version of cofferdam: {1}")]
    Other(String, String),
}

impl Operator {
    /// What is at a path.
    ///
    /// # Errors
    /// [`OperatorError`].
    pub(super) fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, OperatorError> {
        let request = agent(Some(PATIENCE)).get(self.url(path));
        self.read(authorized(request).call())
    }

    /// Has something done, however long it takes.
    ///
    /// # Errors
    /// [`OperatorError`].
    pub(super) fn post<T: DeserializeOwned>(&self, path: &str) -> Result<T, OperatorError> {
        let request = agent(None).post(self.url(path));
        self.read(authorized(request).send_empty())
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.admin.trim_end_matches('/'))
    }

    fn read<T: DeserializeOwned>(
        &self,
        answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
    ) -> Result<T, OperatorError> {
        let url = || super::clean(&self.admin);
        let mut answer = answer.map_err(|error| OperatorError::Unreachable(url(), error))?;
        let status = answer.status().as_u16();
        let body = answer.body_mut().with_config().limit(ANSWER_BYTES);
        let body = body.read_to_string();
        let body = body.map_err(|error| OperatorError::Other(url(), error.to_string()))?;
        if status == 200 {
            let read = serde_json::from_str(&body);
            return read.map_err(|error| OperatorError::Other(url(), error.to_string()));
        }
        if status == 401 {
            return Err(OperatorError::Token(url()));
        }
        let body: Value = serde_json::from_str(&body).unwrap_or_default();
        match body["error"].as_str() {
            Some(reason) => {
                let reason = super::clean(reason);
                Err(OperatorError::Refused(url(), status, reason))
            }
            None => {
                let reason = format!("it answers with status {status}");
                Err(OperatorError::Other(url(), reason))
            }
        }
    }
}

fn agent(patience: Option<Duration>) -> ureq::Agent {
    ureq::Agent::config_builder()
        .timeout_global(patience)
        .timeout_connect(Some(PATIENCE))
        .http_status_as_error(false)
        .max_redirects(0)
        // A token is nobody else's business.
        .proxy(None)
        .build()
        .into()
}

fn authorized<B>(request: ureq::RequestBuilder<B>) -> ureq::RequestBuilder<B> {
    match env::var(TOKEN) {
        Ok(token) => request.header("authorization", format!("Bearer {}", token.trim())),
        Err(_) => request,
    }
}
