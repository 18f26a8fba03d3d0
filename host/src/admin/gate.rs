//! Who may ask at the operator's address, before it is known who that is.
//!
//! Invariants: a request comes by a name of this machine, if it is to; and if a page in a browser makes
//! it, then the console, which this address serves itself. A page from elsewhere may lead to the
//! console, in a window of its own, and to nothing else.

use crate::limits::ServerLimits;
use crate::transport::{Refusal, check_source};
use hyper::Method;
use hyper::header::{CONTENT_TYPE, HeaderValue, ORIGIN};
use hyper::http::request::Parts;

/// Where the console is.
pub(super) fn is_console(path: &str) -> bool {
    matches!(path, "/" | "/console")
}

/// Checks where a request comes from.
pub(super) fn check(head: &Parts, loopback: bool) -> Result<(), Refusal> {
    let headers = &head.headers;
    // No name beside the machine's own, and no origin but the one it is asked by.
    check_source(&head.uri, headers, &ServerLimits::default(), loopback)?;
    // Browsers say so of all that a page asks for, wherever it may not: and no page can change it.
    let sites = || headers.get_all("sec-fetch-site").iter();
    let is_own = |site: &HeaderValue| site == "same-origin" || site == "none";
    if !sites().all(is_own) && !is_led_to_console(head) {
        return Err(Refusal::Origin);
    }
    let from_page = headers.contains_key(ORIGIN) || sites().next().is_some();
    // What no form can send: a page that does has passed a preflight, or is the console.
    if from_page && head.method == Method::POST {
        let kind = headers.get(CONTENT_TYPE);
        if kind.is_none_or(|kind| kind != "application/json") {
            return Err(Refusal::ContentType);
        }
    }
    Ok(())
}

/// Somebody follows a link to the console: not in a frame.
fn is_led_to_console(head: &Parts) -> bool {
    let is = |name: &str, value: &str| {
        let mut all = head.headers.get_all(name).iter();
        all.next().is_some_and(|it| it == value) && all.next().is_none()
    };
    head.method == Method::GET
        && is_console(head.uri.path())
        && is("sec-fetch-mode", "navigate")
        && is("sec-fetch-dest", "document")
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::Request;

    fn of(method: &str, path: &str, headers: &[(&str, &str)]) -> Result<(), Refusal> {
        let mut request = Request::builder().method(method).uri(path);
        request = request.header("host", "127.0.0.1:8081");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        check(&request.body(()).unwrap().into_parts().0, true)
    }

    #[test]
    fn a_page_from_elsewhere_may_lead_to_the_console_and_nowhere_else() {
        let led = |site| {
            [
                ("sec-fetch-site", site),
                ("sec-fetch-mode", "navigate"),
                ("sec-fetch-dest", "document"),
            ]
        };
        for site in ["cross-site", "same-site"] {
            assert_eq!(of("GET", "/", &led(site)), Ok(()));
            assert_eq!(of("GET", "/console", &led(site)), Ok(()));
            assert_eq!(of("GET", "/status", &led(site)), Err(Refusal::Origin));
            assert_eq!(of("POST", "/", &led(site)), Err(Refusal::Origin));
            for (at, other) in [(1, "no-cors"), (1, "cors"), (2, "iframe"), (2, "script")] {
                let mut headers = led(site);
                headers[at].1 = other;
                assert_eq!(of("GET", "/", &headers), Err(Refusal::Origin), "{other}");
            }
        }
        assert_eq!(
            of("GET", "/", &[led("cross-site")[0]]),
            Err(Refusal::Origin)
        );
        // A second value of a header is none of a browser's.
        let twice = [
            ("sec-fetch-site", "same-origin"),
            ("sec-fetch-site", "cross-site"),
        ];
        assert_eq!(of("GET", "/status", &twice), Err(Refusal::Origin));
    }

    #[test]
    fn the_console_itself_may_ask_and_reload() {
        let own = [
            ("origin", "http://127.0.0.1:8081"),
            ("sec-fetch-site", "same-origin"),
        ];
        assert_eq!(of("GET", "/status", &own), Ok(()));
        let json = ("content-type", "application/json");
        assert_eq!(of("POST", "/reload", &[own[0], own[1], json]), Ok(()));
        for form in ["text/plain", "application/x-www-form-urlencoded", ""] {
            let headers = [own[0], own[1], ("content-type", form)];
            assert_eq!(of("POST", "/reload", &headers), Err(Refusal::ContentType));
        }
        assert_eq!(of("POST", "/reload", &own), Err(Refusal::ContentType));
        // A program says nothing of pages.
        assert_eq!(of("POST", "/reload", &[]), Ok(()));
    }
}
