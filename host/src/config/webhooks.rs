//! `[[webhooks]]`: where changes of tasks are sent.

use super::auth::is_url;
use super::check::Place;
use super::{ConfigError, raw};
use crate::grants::Secret;
use crate::task::Status;
use crate::webhook::{SigningSecret, WebhookOptions};
use std::path::PathBuf;

impl Place<'_> {
    pub(super) fn webhooks(
        &self,
        raw: Vec<raw::Webhook>,
        beside: &dyn Fn(PathBuf) -> PathBuf,
    ) -> Result<Vec<WebhookOptions>, ConfigError> {
        let mut webhooks = Vec::new();
        for (index, webhook) in raw.into_iter().enumerate() {
            let key = |member: &str| format!("webhooks[{index}].{member}");
            if !is_url(&webhook.url) {
                let rule = format!(
                    "{:?} must be an https URL (http only on this machine)",
                    webhook.url
                );
                return self.bad(&key("url"), rule);
            }
            let secret = Secret::from_raw(webhook.secret, beside).read("secret");
            let secret = secret.or_else(|error| self.bad(&key("secret"), error.to_string()))?;
            let secret = SigningSecret::new(&secret)
                .or_else(|error| self.bad(&key("secret"), error.to_string()))?;
            let mut events = Vec::new();
            for name in webhook.events {
                match Status::ALL.into_iter().find(|status| status.name() == name) {
                    Some(status) => events.push(status),
                    None => {
                        let all = Status::ALL.map(Status::name).join(", ");
                        let rule = format!("{name:?} is no state of a task; there are {all}");
                        return self.bad(&key("events"), rule);
                    }
                }
            }
            webhooks.push(WebhookOptions {
                url: webhook.url,
                secret,
                events,
            });
        }
        Ok(webhooks)
    }
}
