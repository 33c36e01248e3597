//! Tests of the masking: the parts of an exchange that are masked, and one mask for one
//! secret.

use super::*;
use serde_json::json;

const SECRET: &str = "QxZ7vK2mW9pL4tR8sB3nF6hJ1dG5yC0aQxZ7vK2mW9p";

#[test]
fn a_secret_is_masked_the_same_way_everywhere_and_unlike_another() {
    let shown = mask(SECRET);
    assert_eq!(
        request(&json!({ "session_key": SECRET }), None),
        json!({ "session_key": shown })
    );
    assert_eq!(url(&format!("/login/{SECRET}")), format!("/login/{shown}"));
    assert_eq!(
        header("authorization", &format!("Bearer {SECRET}")),
        format!("Bearer {shown}")
    );
    assert_ne!(mask(&SECRET.to_lowercase()), shown);
}

#[test]
fn a_secret_is_masked_wherever_a_client_puts_it() {
    let everywhere = [
        url(&format!("/authorize?client_id={SECRET}&state={SECRET}")),
        url(&format!("/authorize?{SECRET}")),
        url(&format!("/{SECRET}#{SECRET}")),
        url(&format!("https://app.example/{SECRET}?x={SECRET}")),
        request(&json!({ SECRET: 1 }), None).to_string(),
        request(&json!({ "provider": SECRET }), None).to_string(),
        request(
            &json!({ "redirect_uri": format!("https://a/?k={SECRET}") }),
            None,
        )
        .to_string(),
        request(
            &json!({ "redirect_uri": format!("https://a/login/{SECRET}") }),
            None,
        )
        .to_string(),
        request(&json!({ "client_id": format!("prj_{SECRET}") }), None).to_string(),
        request(&json!({ "client_secret": [SECRET] }), None).to_string(),
        request(&json!([SECRET]), None).to_string(),
        header("user-agent", SECRET),
        header("x-anything", SECRET),
        header("cookie", &format!("a={SECRET}; {SECRET}=b; {SECRET}")),
        header("set-cookie", &format!("a={SECRET}; Path=/")),
        response(&json!({ "access_token": SECRET })).to_string(),
        response(&json!({ "authorization_url": format!("http://a/login/{SECRET}") })).to_string(),
    ];
    for shown in everywhere {
        assert!(!shown.contains(SECRET), "{shown}");
    }
}

#[test]
fn a_refused_call_shows_its_client_and_its_callback() {
    let client_id = "prj_XUOmZEbWqcEDt1Xb9bFYpg";
    let redirect_uri = "http://localhost:3000/3f2504e0-4f89-11d3-9a0c-0305e82c3301/back";
    let named = json!({ "client_id": client_id, "redirect_uri": redirect_uri });
    assert_eq!(request(&named, None), named);
    let visit = format!("/authorize?client_id={client_id}&redirect_uri={redirect_uri}");
    assert_eq!(url(&visit), visit);
}

#[test]
fn harmless_values_are_shown() {
    assert_eq!(
        request(
            &json!({ "client_id": "prj_1", "provider": "google",
                     "redirect_uri": "http://localhost:3000/callback",
                     "grant_type": "authorization_code" }),
            Some("prj_1")
        ),
        json!({ "client_id": "prj_1", "provider": "google",
                "redirect_uri": "http://localhost:3000/callback",
                "grant_type": "authorization_code" })
    );
    assert_eq!(
        url("http://localhost:3000/back?error=access_denied"),
        "http://localhost:3000/back?error=access_denied"
    );
    let profile =
        json!({ "status": "succeeded", "profile": { "name": null, "emailVerified": true } });
    assert_eq!(response(&profile), profile);
    for parameter in [
        "scope=email+openid+https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fuserinfo.email",
        "scope=read%3Auser+user%3Aemail",
        "authuser=0",
        "hd=people.example",
        "prompt=consent",
    ] {
        let shown = url(&format!("/callback/google?{parameter}"));
        assert!(!shown.contains("[masked"), "{shown}");
    }
    for (name, value) in [
        ("upgrade-insecure-requests", "1"),
        (
            "sec-ch-ua",
            "\"Chromium\";v=\"156\", \"Not?A_Brand\";v=\"24\"",
        ),
        ("sec-fetch-user", "?1"),
    ] {
        assert_eq!(header(name, value), value);
    }
    let policy = "default-src 'none'; cross-origin-opener-policy-and-more";
    assert_eq!(header("content-security-policy", policy), policy);
}

#[test]
fn a_secret_in_a_harmless_parameter_is_masked() {
    for name in ["scope", "authuser", "hd"] {
        let shown = url(&format!("/callback/google?{name}={SECRET}"));
        assert!(!shown.contains(SECRET), "{shown}");
    }
    let scope = format!("https://www.googleapis.com/auth/{SECRET}");
    assert!(!url(&format!("/callback/google?scope={scope}")).contains(SECRET));
}
