//! Reloads, by a server without components.

use super::{Admin, AdminOptions, AdminServer, Refused, Reload, Reloaded};
use crate::auth::Auth;
use crate::call::Sealer;
use crate::catalog::{Archive, Catalog};
use crate::journal::Origin;
use crate::metrics::ReloadOutcome;
use crate::runtime::{Compiler, Runtime};
use crate::server::{Parts, Server};
use crate::settings::Settings;
use crate::tenants::{TenantLimits, Tenants};
use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::sync::Arc;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, mpsc};

type Outcome = Result<Reloaded, String>;

/// Tells when it begins, and ends when it is let.
struct Told {
    begun: mpsc::UnboundedSender<()>,
    may_end: Semaphore,
    outcomes: Mutex<Vec<Outcome>>,
}

#[async_trait]
impl Reload for Told {
    async fn reload(&self) -> Outcome {
        self.begun.send(()).unwrap();
        self.may_end.acquire().await.unwrap().forget();
        self.outcomes.lock().remove(0)
    }
}

struct World {
    server: Arc<Server>,
    url: String,
    reload: Arc<Told>,
    begun: mpsc::UnboundedReceiver<()>,
    admin: Option<Admin>,
    _folder: TempDir,
}

impl World {
    /// A server whose reloads come to these.
    async fn new(outcomes: Vec<Outcome>) -> Self {
        let settings = Settings::from_assignments(&["sandbox.instances=1".to_owned()]).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let runtime = Runtime::new(settings.sandbox.clone(), Compiler::Thread).unwrap();
        let limits = TenantLimits::new(runtime.whole_share(), 1);
        let server = Server::new(Parts {
            settings,
            runtime: Arc::new(runtime),
            catalog: Catalog::default(),
            store: None,
            archive: Archive::open(folder.path()).unwrap(),
            sealer: Sealer::new([0; 32]),
            origin: Origin::Live,
            auth: Auth::None,
            tenants: Tenants::new(Vec::new(), limits),
        });
        let (sender, begun) = mpsc::unbounded_channel();
        let reload = Arc::new(Told {
            begun: sender,
            may_end: Semaphore::new(0),
            outcomes: Mutex::new(outcomes),
        });
        let listen = "127.0.0.1:0".to_owned();
        let auth = Auth::None;
        let admin = AdminServer::bind(AdminOptions { listen, auth })
            .await
            .unwrap();
        let url = admin.url();
        let offered = Arc::clone(&reload) as Arc<dyn Reload>;
        let admin = admin.serve(Arc::clone(&server), Some(offered)).unwrap();
        Self {
            server,
            url,
            reload,
            begun,
            admin: Some(admin),
            _folder: folder,
        }
    }

    /// A connection that asked for a reload.
    async fn ask(&self) -> TcpStream {
        let address = self.url.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = b"POST /reload HTTP/1.1\r\nHost: localhost\r\n\r\n";
        stream.write_all(request).await.unwrap();
        stream
    }

    fn reloads(&self) -> [u64; 3] {
        ReloadOutcome::ALL.map(|outcome| self.server.metrics().reloads(outcome))
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.server.stopping().cancel();
        drop(self.admin.take());
    }
}

async fn answer(mut stream: TcpStream) -> (u16, Value) {
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap())
}

#[tokio::test]
async fn what_a_reload_comes_to_is_told_and_counted() {
    let reloaded = Reloaded {
        added: vec!["a".to_owned()],
        ..Reloaded::default()
    };
    let refused = Reloaded {
        refused: vec![Refused {
            name: "x.wasm".to_owned(),
            reason: "y".to_owned(),
        }],
        ..reloaded.clone()
    };
    let outcomes = vec![
        Ok(reloaded.clone()),
        Ok(refused.clone()),
        Err("no".to_owned()),
    ];
    let world = World::new(outcomes).await;
    world.reload.may_end.add_permits(3);
    assert_eq!(answer(world.ask().await).await, (200, json!(reloaded)));
    assert_eq!(answer(world.ask().await).await, (200, json!(refused)));
    let failed = (500, json!({ "error": "no" }));
    assert_eq!(answer(world.ask().await).await, failed);
    assert_eq!(world.reloads(), [1, 1, 1]);
}

#[tokio::test]
async fn there_is_one_reload_at_a_time_and_it_gives_way_to_nobody() {
    let outcomes = vec![Ok(Reloaded::default()), Ok(Reloaded::default())];
    let mut world = World::new(outcomes).await;
    let first = world.ask().await;
    world.begun.recv().await.unwrap();
    assert_eq!(answer(world.ask().await).await.0, 409);
    let address = world.url.strip_prefix("http://").unwrap().to_owned();
    let mut silent = Vec::new();
    for _ in 0..2 * crate::limits::ADMIN_CONNECTIONS {
        silent.push(TcpStream::connect(&address).await.unwrap());
    }
    // It is seen after all of those.
    assert_eq!(answer(world.ask().await).await.0, 409);
    world.reload.may_end.add_permits(1);
    assert_eq!(answer(first).await.0, 200);

    // Whoever asked may go.
    let second = world.ask().await;
    world.begun.recv().await.unwrap();
    drop(second);
    world.reload.may_end.add_permits(1);
    while world.reloads() != [2, 0, 0] {
        tokio::task::yield_now().await;
    }
}
