//! Tools that were granted the whole internet, and try to reach what is not it; or wear out the server
//! by what they ask for.

use cofferdam_tests::{Arena, Declares, Terms, Upstream};
use serde_json::{Value, json};

use crate::end::ends;

/// Every public host, and these addresses.
fn everywhere(private: &[&str], limits: &str) -> Terms {
    let hosts = ["http://*:*", "https://*:*"];
    Terms {
        guests: vec!["outbound"],
        grants: format!(
            "[tools.grants.http]\nhosts = {hosts:?}\nprivate = {private:?}\n\
             [tools.grants.http.limits]\n{limits}\n"
        ),
        instances: 8,
        handed_over: 4 << 20,
        ..Terms::default()
    }
}

/// What came of it, as the tool tells it.
async fn asked(arena: &Arena, request: Value, times: usize) -> Vec<String> {
    let mallory = arena.mallory(Declares::Nothing);
    let all = ends(&mallory, "fetch", request, times).await;
    let told = all.iter().map(|end| &end.result()["structuredContent"]);
    told.map(Value::to_string).collect()
}

#[tokio::test]
async fn what_is_not_public_is_not_reached() {
    let upstream = Upstream::start().await;
    let arena = Arena::start(everywhere(&[], "")).await;
    let port = upstream.port();
    let attack = async {
        for host in [
            "127.0.0.1",
            "localhost",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "0.0.0.0",
            "2130706433",
            "169.254.169.254",
            "[fd00:ec2::254]",
        ] {
            let request = json!({"url": format!("http://{host}:{port}/"), "method": "POST"});
            for told in asked(&arena, request, 8).await {
                let refused = ["DestinationIpProhibited", "DestinationNotFound"];
                assert!(refused.iter().any(|it| told.contains(it)), "{host}: {told}");
            }
        }
    };
    arena.under("addresses that are not public", attack).await;
    assert!(upstream.asked("/").is_empty());
}

#[tokio::test]
async fn a_redirect_leads_nowhere_else() {
    let upstream = Upstream::start().await;
    let arena = Arena::start(everywhere(&["127.0.0.1"], "")).await;
    let attack = async {
        for told in asked(&arena, json!({"url": upstream.url("/redirect")}), 8).await {
            assert!(told.contains("302"), "{told}");
        }
        let to = json!({"url": "http://169.254.169.254/latest/meta-data/"});
        for told in asked(&arena, to, 8).await {
            assert!(told.contains("DestinationIpProhibited"), "{told}");
        }
    };
    arena.under("redirects to metadata", attack).await;
}

#[tokio::test]
async fn floods_of_headers_and_bodies_end_at_their_limits() {
    let upstream = Upstream::start().await;
    let limits = "response-bytes = 1_000_000\nrequest-bytes = 1_000_000";
    let arena = Arena::start(everywhere(&["127.0.0.1"], limits)).await;
    let url = |path: &str| upstream.url(path);
    let attack = async {
        for (request, limit) in [
            (
                json!({"url": url("/"), "flood": 1_000_000}),
                "http.limits.header-bytes",
            ),
            (
                json!({"url": url("/big/30000000")}),
                "HttpResponseBodySize(Some(1000000))",
            ),
            (
                json!({"url": url("/head/500000")}),
                "HttpResponseHeaderSectionSize",
            ),
            (
                json!({"url": url("/"), "method": "POST", "body": 60_000_000}),
                "http.limits.request-bytes",
            ),
        ] {
            let mallory = arena.mallory(Declares::Nothing);
            for end in ends(&mallory, "fetch", request.clone(), 16).await {
                let told = format!("{end:?}");
                assert!(told.contains(limit), "{request}: {told}");
            }
        }
    };
    arena.under("floods of headers and bodies", attack).await;
}

#[tokio::test]
async fn who_never_answers_holds_nobody_up() {
    let upstream = Upstream::start().await;
    let arena = Arena::start(everywhere(&["127.0.0.1"], "total-ms = 1_500")).await;
    let attack = async {
        for told in asked(&arena, json!({"url": upstream.url("/never")}), 16).await {
            assert!(told.contains("HttpResponseTimeout"), "{told}");
        }
    };
    arena.under("servers that never answer", attack).await;
}
