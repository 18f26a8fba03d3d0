//! The floor: what HTTP and the message itself cost. It reads the call into types that borrow, and
//! answers with its text; it checks nothing that a parser does not.

use std::borrow::Cow;

use anyhow::Result;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::net::TcpListener;

pub(super) async fn serve(listener: TcpListener) -> Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let connection =
            http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer));
        // The client closes when it is done; the floor handles no other ends.
        tokio::spawn(connection);
    }
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>> {
    let body = request.into_body().collect().await?.to_bytes();
    let message: Message = serde_json::from_slice(&body)?;
    let answer = Answer {
        jsonrpc: message.jsonrpc,
        id: message.id,
        result: Outcome {
            content: [Block {
                kind: "text",
                text: &message.params.arguments.text,
            }],
            result_type: "complete",
        },
    };
    let mut response = Response::new(Full::from(serde_json::to_vec(&answer)?));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

#[derive(Deserialize)]
struct Message<'a> {
    jsonrpc: &'a str,
    #[serde(borrow)]
    id: &'a RawValue,
    #[expect(dead_code, reason = "parsed like the rest")]
    method: &'a str,
    params: Params<'a>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "parsed like the rest")]
struct Params<'a> {
    name: &'a str,
    #[serde(borrow)]
    arguments: Arguments<'a>,
    #[serde(rename = "_meta")]
    meta: Meta<'a>,
}

#[derive(Deserialize)]
struct Arguments<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "parsed like the rest")]
struct Meta<'a> {
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    version: &'a str,
    #[serde(borrow, rename = "io.modelcontextprotocol/clientInfo")]
    client: ClientInfo<'a>,
    #[serde(borrow, rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: &'a RawValue,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "parsed like the rest")]
struct ClientInfo<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    version: Cow<'a, str>,
}

#[derive(Serialize)]
struct Answer<'a> {
    jsonrpc: &'a str,
    id: &'a RawValue,
    result: Outcome<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Outcome<'a> {
    content: [Block<'a>; 1],
    result_type: &'a str,
}

#[derive(Serialize)]
struct Block<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    text: &'a str,
}
