//! Flaws of the callbacks in requests: others than the project's own are accepted.

use url::form_urlencoded;

use super::super::proxy::ProxiedRequest;
use super::super::test_broker::{CALLBACK, OTHER_CALLBACK, SECOND_CALLBACK};
use super::NonCompliantBroker;

pub(crate) fn all() -> Vec<NonCompliantBroker> {
    vec![
        NonCompliantBroker::accepts(
            "accepts a callback with a query",
            &[(
                "redirect_uri.shape",
                "expected a refusal (4xx)",
                r#"conformance?x=1"} -> 200"#,
            )],
            |_, request| {
                cut_callback(request, |uri| uri.split('?').next());
                None
            },
        ),
        NonCompliantBroker::accepts(
            "accepts a callback with a fragment",
            &[(
                "redirect_uri.shape",
                "expected a refusal (4xx)",
                r#"conformance#x"} -> 200"#,
            )],
            |_, request| {
                cut_callback(request, |uri| uri.split('#').next());
                None
            },
        ),
        NonCompliantBroker::accepts(
            "accepts a callback with a further slash",
            &[(
                "redirect_uri.registered",
                "expected a refusal (4xx)",
                r#"conformance/"} -> 200"#,
            )],
            |_, request| {
                cut_callback(request, |uri| uri.strip_suffix('/'));
                None
            },
        ),
        NonCompliantBroker::accepts(
            "accepts the callbacks of every project",
            &[(
                "redirect_uri.own_project",
                "expected a refusal (4xx)",
                r#""redirect_uri":"http://localhost:9/another-project"} -> 200"#,
            )],
            |_, request| {
                if request.text("redirect_uri") == OTHER_CALLBACK {
                    request.put("redirect_uri", CALLBACK);
                }
                None
            },
        ),
        NonCompliantBroker::accepts(
            "sends codes to the callbacks of every project",
            &[],
            |_, request| {
                if let Some(uri) = request.parameter("redirect_uri")
                    && uri == OTHER_CALLBACK
                {
                    request.path = request.path.replace(&escaped(&uri), &escaped(CALLBACK));
                }
                None
            },
        )
        .and_chooses(&[(
            "authorize.client",
            "this kit redirects no such request to a provider",
            "&redirect_uri=http://localhost:9/another-project -> 303 to http",
        )]),
        NonCompliantBroker::accepts(
            "accepts a callback below a registered one",
            &[(
                "redirect_uri.registered",
                "expected a refusal (4xx)",
                r#"conformance/"} -> 200"#,
            )],
            |_, request| {
                cut_callback(request, |uri| {
                    let is_below = uri.starts_with(&format!("{CALLBACK}/"));
                    (is_below && uri != SECOND_CALLBACK).then_some(CALLBACK)
                });
                None
            },
        ),
    ]
}

fn escaped(uri: &str) -> String {
    form_urlencoded::byte_serialize(uri.as_bytes()).collect()
}

/// Replaces a callback by the registered one that `cut` makes of it, once its length
/// is checked.
fn cut_callback(request: &mut ProxiedRequest, cut: impl Fn(&str) -> Option<&str>) {
    let uri = request.text("redirect_uri");
    if let Some(registered) = cut(&uri)
        && registered == CALLBACK
        && uri.len() <= 2048
    {
        request.put("redirect_uri", registered);
    }
}
