//! The errors and states of the contract, under their names there.

use cofferdam_guest::{CallStatus, InputError, RecordError, StartError, Started};

pub fn started(outcome: &Result<Started, StartError>) -> String {
    match outcome {
        Ok(Started::Task) => "task".to_owned(),
        Ok(Started::Inline) => "inline".to_owned(),
        Err(StartError::AlreadyStarted) => "already-started".to_owned(),
        Err(StartError::NotAllowed) => "not-allowed".to_owned(),
        Err(StartError::InvalidOption(text)) => format!("invalid-option: {text}"),
        Err(StartError::LimitReached) => "limit-reached".to_owned(),
        Err(StartError::StoreFailed(text)) => format!("store-failed: {text}"),
        Err(StartError::Final) => "final".to_owned(),
    }
}

pub fn input(error: &InputError) -> String {
    match error {
        InputError::Invalid(text) => format!("invalid: {text}"),
        InputError::DuplicateKeys(keys) => format!("duplicate-keys: {}", keys.join(", ")),
        InputError::MissingFeatures(features) => format!("missing-features: {features:?}"),
        InputError::Unavailable => "unavailable".to_owned(),
        InputError::StoreFailed(text) => format!("store-failed: {text}"),
        InputError::Final => "final".to_owned(),
    }
}

pub fn record(outcome: &Result<(), RecordError>) -> String {
    match outcome {
        Ok(()) => "kept".to_owned(),
        Err(RecordError::InvalidKey) => "invalid-key".to_owned(),
        Err(RecordError::TooLarge(text)) => format!("too-large: {text}"),
        Err(RecordError::StoreFailed(text)) => format!("store-failed: {text}"),
        Err(RecordError::Final) => "final".to_owned(),
    }
}

pub fn status(status: CallStatus) -> &'static str {
    match status {
        CallStatus::Inline => "inline",
        CallStatus::Working => "working",
        CallStatus::InputRequired => "input-required",
        CallStatus::Completed => "completed",
        CallStatus::Failed => "failed",
        CallStatus::Cancelled => "cancelled",
    }
}
