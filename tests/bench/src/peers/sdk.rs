//! The official Rust SDK with the same tool as a native function, set up for speed: stateless,
//! plain JSON answers, TCP_NODELAY, and the router built once rather than for each request.

use std::sync::Arc;

use anyhow::Result;
use axum::Router;
use axum::serve::ListenerExt;
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{ServerCapabilities, ServerConfig};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ServerHandler, schemars, tool, tool_handler, tool_router};
use serde::Deserialize;
use tokio::net::TcpListener;

pub(super) async fn serve(listener: TcpListener) -> Result<()> {
    let tools = Tools {
        tool_router: Tools::tool_router(),
    };
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true);
    let sessions = Arc::new(NeverSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(tools.clone()), sessions, config);
    let router = Router::new().nest_service("/mcp", service);
    let listener = listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            eprintln!("no TCP_NODELAY: {error}");
        }
    });
    axum::serve(listener, router).await?;
    Ok(())
}

#[derive(Clone)]
struct Tools {
    tool_router: ToolRouter<Self>,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Echo {
    /// What comes back.
    text: String,
}

#[tool_router]
impl Tools {
    #[tool(description = "Answers with its text")]
    fn echo(&self, Parameters(Echo { text }): Parameters<Echo>) -> String {
        text
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }
}
