//! A server that tools speak to: what it does is in the path, and it remembers what it was asked.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, crypto};

use crate::patient;

/// What was asked.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Method.
    pub method: String,
    /// Path.
    pub path: String,
    /// Headers.
    pub headers: HeaderMap,
    /// Bytes of the body.
    pub length: usize,
    /// The body.
    pub body: Bytes,
}

/// A server on a port of this machine. It is gone when dropped.
pub struct Upstream {
    address: SocketAddr,
    state: Arc<State>,
    accepting: JoinHandle<()>,
}

#[derive(Default)]
struct State {
    asked: Mutex<Vec<Seen>>,
    changed: watch::Sender<usize>,
    gates: Mutex<HashMap<String, Arc<Semaphore>>>,
}

impl Upstream {
    /// In the clear.
    pub async fn start() -> Self {
        Self::with(None).await
    }

    /// With TLS, for `localhost`; and the certificate, as PEM, that it must be trusted by.
    ///
    /// # Panics
    /// If no certificate can be made.
    pub async fn tls() -> (Self, String) {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]);
        let made = made.expect("a certificate can be made");
        let certificate = CertificateDer::from(made.cert.der().to_vec());
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).expect("a key");
        let provider = Arc::new(crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .expect("a key that fits");
        let acceptor = TlsAcceptor::from(Arc::new(config));
        (Self::with(Some(acceptor)).await, made.cert.pem())
    }

    async fn with(acceptor: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let state = Arc::<State>::default();
        let shared = Arc::clone(&state);
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (state, acceptor) = (Arc::clone(&shared), acceptor.clone());
                tokio::spawn(async move {
                    match acceptor {
                        None => serve(stream, state).await,
                        Some(acceptor) => {
                            if let Ok(stream) = acceptor.accept(stream).await {
                                serve(stream, state).await;
                            }
                        }
                    }
                });
            }
        });
        Self {
            address,
            state,
            accepting,
        }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// An `http` URL of it.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// All that was asked at a path so far.
    pub fn asked(&self, path: &str) -> Vec<Seen> {
        let asked = self.state.asked.lock().expect("no panic before");
        asked.iter().filter(|it| it.path == path).cloned().collect()
    }

    /// Waits until a path was asked so often.
    pub async fn until_asked(&self, path: &str, times: usize) -> Vec<Seen> {
        let mut changed = self.state.changed.subscribe();
        patient(&format!("{times} requests of {path}"), async {
            while self.asked(path).len() < times {
                changed.changed().await.expect("the server runs");
            }
        })
        .await;
        self.asked(path)
    }

    /// Lets one request of a `/held…` path be answered.
    pub fn release(&self, path: &str) {
        self.state.gate(path).add_permits(1);
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl State {
    fn gate(&self, path: &str) -> Arc<Semaphore> {
        let mut gates = self.gates.lock().expect("no panic before");
        let gate = gates.entry(path.to_owned());
        Arc::clone(gate.or_insert_with(|| Arc::new(Semaphore::new(0))))
    }

    fn remember(&self, asked: Seen) -> usize {
        let mut all = self.asked.lock().expect("no panic before");
        let path = asked.path.clone();
        all.push(asked);
        let times = all.iter().filter(|it| it.path == path).count();
        self.changed.send_replace(all.len());
        times
    }
}

async fn serve(
    mut stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    state: Arc<State>,
) {
    let service = service_fn(|request| answer(request, Arc::clone(&state)));
    let served = http1::Builder::new()
        .max_buf_size(1 << 20)
        .serve_connection(TokioIo::new(&mut stream), service)
        .await;
    // A client that went away is none of our errors.
    let _ = served;
    let _ = stream.shutdown().await;
}

async fn answer(
    request: Request<Incoming>,
    state: Arc<State>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let path = head.uri.path().to_owned();
    let body = body.collect().await;
    let body = body.map_or_else(|_| Bytes::new(), |body| body.to_bytes());
    let times = state.remember(Seen {
        method: head.method.to_string(),
        path: path.clone(),
        headers: head.headers,
        length: body.len(),
        body,
    });
    let mut words = path.trim_start_matches('/').split('/');
    let word = words.next().unwrap_or_default();
    let number: usize = words.next().and_then(|it| it.parse().ok()).unwrap_or(0);
    let text = |text: String| Response::new(Full::new(Bytes::from(text)));
    Ok(match word {
        "held" => {
            let gate = state.gate(&path);
            if let Ok(permit) = gate.acquire().await {
                permit.forget();
            }
            text(format!("{path} {times}"))
        }
        "never" => std::future::pending().await,
        "slow" => {
            tokio::time::sleep(Duration::from_millis(number as u64)).await;
            text("late".to_owned())
        }
        "big" => text("x".repeat(number)),
        "head" => {
            let mut response = text(String::new());
            let value = "x".repeat(number).parse().expect("a value");
            response.headers_mut().insert("x-large", value);
            response
        }
        "redirect" => {
            let mut response = text("elsewhere".to_owned());
            *response.status_mut() = StatusCode::FOUND;
            let to = "http://169.254.169.254/latest/meta-data/";
            let to = to.parse().expect("a value");
            response.headers_mut().insert("location", to);
            response
        }
        "status" => {
            let mut response = text(path.clone());
            *response.status_mut() = StatusCode::from_u16(number as u16).expect("a status");
            response
        }
        // A page that leads to so many places, of which the last one is not there.
        "page" => {
            let links = (1..number).map(|n| format!("<a class=x href='/there/{n}#top'>{n}</a>"));
            let html: String = links.collect();
            text(format!(
                "{html}<a href=\"/status/404\">gone</a><a href=mailto:a@b.example>"
            ))
        }
        _ => text(format!("{path} {times}")),
    })
}
