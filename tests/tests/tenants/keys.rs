//! An authorization server for the tests: keys that are made when they are needed, tokens signed with
//! them, and a page with the public ones that counts how often it is fetched.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use jsonwebtoken::jwk::{Jwk, KeyOperations, PublicKeyUse};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub(crate) const ISSUER: &str = "https://login.example";
pub(crate) const AUDIENCE: &str = "https://mcp.example/mcp";

/// A pair of keys with a name.
pub(crate) struct Key {
    pub(crate) kid: String,
    pub(crate) algorithm: Algorithm,
    private: EncodingKey,
}

impl Key {
    /// A new one, of Ed25519.
    pub(crate) fn ed25519(kid: &str) -> Self {
        // PKCS #8 of RFC 8410: a fixed head, then 32 random bytes.
        let mut der = vec![
            0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20,
        ];
        der.extend(random());
        Self {
            kid: kid.to_owned(),
            algorithm: Algorithm::EdDSA,
            private: EncodingKey::from_ed_der(&der),
        }
    }

    /// A new one, of P-256.
    pub(crate) fn p256(kid: &str) -> Self {
        // PKCS #8 of RFC 5915 without the public key: a fixed head, then 32 random bytes.
        let mut der = vec![0x30, 0x41, 2, 1, 0, 0x30, 0x13];
        der.extend([6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1]);
        der.extend([6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7]);
        der.extend([4, 0x27, 0x30, 0x25, 2, 1, 1, 4, 0x20]);
        der.extend(random());
        Self {
            kid: kid.to_owned(),
            algorithm: Algorithm::ES256,
            private: EncodingKey::from_ec_der(&der),
        }
    }

    /// Always the same one, of RSA with 2048 bits: to make one takes a while.
    pub(crate) fn rsa(kid: &str, algorithm: Algorithm) -> Self {
        Self {
            kid: kid.to_owned(),
            algorithm,
            private: EncodingKey::from_rsa_der(include_bytes!("rsa-2048.der")),
        }
    }

    /// The public half.
    pub(crate) fn public(&self) -> Value {
        let mut jwk = Jwk::from_encoding_key(&self.private, self.algorithm).expect("a key");
        jwk.common.key_id = Some(self.kid.clone());
        jwk.common.public_key_use = Some(PublicKeyUse::Signature);
        jwk.common.key_operations = Some(vec![KeyOperations::Verify]);
        serde_json::to_value(jwk).expect("a key is JSON")
    }

    /// A header of its tokens.
    pub(crate) fn header(&self) -> Header {
        let mut header = Header::new(self.algorithm);
        header.kid = Some(self.kid.clone());
        header.typ = Some("at+jwt".to_owned());
        header
    }

    /// A token with these claims.
    pub(crate) fn sign(&self, claims: &Value) -> String {
        self.sign_as(&self.header(), claims)
    }

    /// A token with another header.
    pub(crate) fn sign_as(&self, header: &Header, claims: &Value) -> String {
        encode(header, claims, &self.private).expect("a token")
    }
}

/// Bytes for a private key. The standard library's own random state is enough for a test.
fn random() -> Vec<u8> {
    use std::hash::{BuildHasher, Hasher, RandomState};
    let word = |_| RandomState::new().build_hasher().finish().to_le_bytes();
    (0..4).flat_map(word).collect()
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.expect("a clock after 1970").as_secs()
}

/// Good claims of this subject.
pub(crate) fn claims(subject: &str) -> Value {
    json!({
        "iss": ISSUER, "aud": AUDIENCE, "sub": subject, "org": "acme", "scope": "mcp other",
        "iat": now(), "exp": now() + 600,
    })
}

/// Good claims but for one, which is changed, or left out if it is null.
pub(crate) fn claims_but(claim: &str, value: Value) -> Value {
    let mut claims = claims("ada");
    let members = claims.as_object_mut().expect("an object");
    if value.is_null() {
        members.remove(claim);
    } else {
        members.insert(claim.to_owned(), value);
    }
    claims
}

/// A set of public keys (RFC 7517).
pub(crate) fn set(keys: &[&Key]) -> String {
    let keys: Vec<Value> = keys.iter().map(|key| key.public()).collect();
    json!({ "keys": keys }).to_string()
}

/// The page with the keys. It is gone when dropped.
pub(crate) struct KeyServer {
    pub(crate) url: String,
    page: Arc<Mutex<(u16, String)>>,
    fetched: Arc<AtomicUsize>,
    serving: JoinHandle<()>,
}

impl KeyServer {
    pub(crate) async fn start(page: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/keys", listener.local_addr().expect("an address"));
        let page = Arc::new(Mutex::new((200, page)));
        let fetched = Arc::new(AtomicUsize::new(0));
        let (shown, counter) = (Arc::clone(&page), Arc::clone(&fetched));
        let serving = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                counter.fetch_add(1, Ordering::SeqCst);
                let (status, body) = shown.lock().expect("no panic with the lock").clone();
                let length = body.len();
                let answer = format!(
                    "HTTP/1.1 {status} X\r\nContent-Type: application/jwk-set+json\r\n\
                     Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
                );
                tokio::spawn(async move {
                    // A request for a page is one small packet.
                    let _ = stream.read(&mut [0; 4096]).await;
                    let _ = stream.write_all(answer.as_bytes()).await;
                    let _ = stream.shutdown().await;
                });
            }
        });
        Self {
            url,
            page,
            fetched,
            serving,
        }
    }

    /// Shows another page from now on.
    pub(crate) fn show(&self, status: u16, page: String) {
        *self.page.lock().expect("no panic with the lock") = (status, page);
    }

    /// How often the page was fetched.
    pub(crate) fn fetched(&self) -> usize {
        self.fetched.load(Ordering::SeqCst)
    }
}

impl Drop for KeyServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
