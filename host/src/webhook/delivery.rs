//! One delivery: its signature, and its tries.

use crate::limits::{WEBHOOK_PAUSE, WEBHOOK_PAUSE_MOST, WEBHOOK_TIME, WEBHOOK_TRIES};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::Value;
use sha2::Sha256;
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

/// Before the base64 of a secret.
const PREFIX: &str = "whsec_";

/// A secret that is no signing secret.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "a signing secret is whsec_ and the base64 of 24 to 64 bytes, as openssl rand -base64 32 makes it"
)]
pub struct SecretError;

/// What a receiver checks signatures with. It is in no `Debug`.
#[derive(Clone)]
pub struct SigningSecret(Vec<u8>);

impl SigningSecret {
    /// Reads `whsec_BASE64`.
    ///
    /// # Errors
    /// [`SecretError`].
    pub fn new(text: &str) -> Result<Self, SecretError> {
        let bytes = text.strip_prefix(PREFIX).ok_or(SecretError)?;
        let bytes = STANDARD.decode(bytes).map_err(|_| SecretError)?;
        match bytes.len() {
            24..=64 => Ok(Self(bytes)),
            _ => Err(SecretError),
        }
    }

    /// The signature of a body that is sent at a time, seconds since 1970, under an id.
    fn sign(&self, id: &str, time: u64, body: &str) -> String {
        #[expect(clippy::expect_used, reason = "HMAC takes keys of any length")]
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("a key");
        mac.update(format!("{id}.{time}.{body}").as_bytes());
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

impl fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningSecret")
    }
}

/// What sends: no redirect is followed, and no answer waited for longer than `WEBHOOK_TIME`.
pub(super) fn agent() -> ureq::Agent {
    ureq::Agent::config_builder()
        .timeout_global(Some(WEBHOOK_TIME))
        .max_redirects(0)
        .http_status_as_error(false)
        .user_agent(concat!("cofferdam/", env!("CARGO_PKG_VERSION")))
        .build()
        .into()
}

/// A message on its way.
#[derive(Clone)]
pub(super) struct Delivery {
    url: String,
    secret: SigningSecret,
    /// The same in every try, and whenever the same is told again (a state that two changes led to
    /// before the first was told), so that a receiver knows it again.
    id: String,
    body: String,
}

impl Delivery {
    pub(super) fn new(url: String, secret: &SigningSecret, message: Value) -> Self {
        let body = message.to_string();
        let digest = blake3::hash(body.as_bytes()).to_hex();
        Self {
            url,
            secret: secret.clone(),
            id: format!("msg_{}", &digest[..32]),
            body,
        }
    }

    /// Sends it until it is taken or its tries are over.
    pub(super) async fn send(self, agent: ureq::Agent, turns: &Semaphore) {
        let (url, mut pause) = (self.url.clone(), WEBHOOK_PAUSE);
        for left in (0..WEBHOOK_TRIES).rev() {
            let turn = turns.acquire().await;
            let (delivery, agent) = (self.clone(), agent.clone());
            let sent = spawn_blocking(move || delivery.post(&agent)).await;
            drop(turn);
            let reason = match sent {
                Ok(Ok(())) => return,
                Ok(Err(reason)) => reason,
                Err(error) => error.to_string(),
            };
            if left == 0 {
                tracing::warn!(
                    url,
                    reason,
                    "a change of a task was not taken; it is given up"
                );
                return;
            }
            tracing::debug!(url, reason, "a change of a task was not taken yet");
            // Not all at once, where many wait for the same URL.
            tokio::time::sleep(pause.mul_f64(rand::random_range(0.8..1.2))).await;
            pause = (pause * 4).min(WEBHOOK_PAUSE_MOST);
        }
    }

    fn post(&self, agent: &ureq::Agent) -> Result<(), String> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let time = since.unwrap_or(Duration::ZERO).as_secs();
        let request = agent
            .post(&self.url)
            .header("content-type", "application/json")
            .header("webhook-id", &self.id)
            .header("webhook-timestamp", time.to_string())
            .header(
                "webhook-signature",
                self.secret.sign(&self.id, time, &self.body),
            );
        let response = request
            .send(&self.body)
            .map_err(|error| error.to_string())?;
        match response.status().as_u16() {
            200..=299 => Ok(()),
            status => Err(format!("the answer was {status}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The example of the specification.
    #[test]
    fn a_signature_is_that_of_the_standard() {
        let secret = SigningSecret::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let body = r#"{"test": 2432232314}"#;
        let signature = secret.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_secret_is_long_and_in_no_debug() {
        for bad in [
            "",
            "whsec_",
            "whsec_AAAA",
            "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "whsec_!",
        ] {
            assert_eq!(SigningSecret::new(bad).err(), Some(SecretError), "{bad}");
        }
        let secret = SigningSecret::new(&format!("whsec_{}", STANDARD.encode([7; 32]))).unwrap();
        assert_eq!(format!("{secret:?}"), "SigningSecret");
    }
}
