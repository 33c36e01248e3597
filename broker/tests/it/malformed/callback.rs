//! Addresses that are almost a callback.

/// Addresses that resemble a registered callback. `callback` has a path.
pub(super) fn near_misses(callback: &str) -> Vec<String> {
    let (scheme, rest) = callback.split_once("://").expect("a URL");
    let (authority, path) = rest.split_once('/').expect("a path");
    let host = authority.split(':').next().unwrap_or_default();
    let last = path.chars().last().expect("a path");
    let shorter = &callback[..callback.len() - last.len_utf8()];
    let escaped = format!("{shorter}%{:02x}", u32::from(last));
    let other_scheme = if scheme == "http" { "https" } else { "http" };
    let at = |authority: &str| format!("{scheme}://{authority}/{path}");
    let mut misses: Vec<String> = [
        "/", "?", "?x=1", "#", "#x", "/more", "//", "/..", "%00", "%20", ";x", "2", " ", "\n",
    ]
    .map(|end| format!("{callback}{end}"))
    .into();
    misses.extend([
        shorter.to_owned(),
        escaped,
        format!("{scheme}://{authority}"),
        format!("{scheme}://{authority}/"),
        format!("{scheme}://{authority}//{path}"),
        format!("{scheme}://{authority}/./{path}"),
        format!("{scheme}://{authority}/x/../{path}"),
        format!("{scheme}://{authority}/{}", path.to_uppercase()),
        format!(
            "{scheme}://{authority}/{}",
            path.replace('/', "%2F") + "%2F"
        ),
        format!("{scheme}:\\\\{authority}\\{path}"),
        format!("{scheme}:/{authority}/{path}"),
        format!("//{authority}/{path}"),
        format!("/{path}"),
        format!("{}://{authority}/{path}", scheme.to_uppercase()),
        format!("{other_scheme}://{authority}/{path}"),
        at(&authority.to_uppercase()),
        at(&authority.replacen(host, &format!("{host}."), 1)),
        at(&format!("www.{authority}")),
        at(&format!("{host}:08443")),
        at(&format!("{host}:8443")),
        at(&format!("ada@{authority}")),
        at(&format!("ada:pass@{authority}")),
        at(&format!("@{authority}")),
        at(&format!("{authority}@evil.example")),
        at(&format!("{host}.evil.example")),
        at("evil.example"),
        at("127.0.0.1"),
        at("127.1"),
        at("[::1]"),
        format!("https://evil.example/{callback}"),
        format!(" {callback}"),
        callback.replacen(path, &format!("\t{path}"), 1),
        "javascript:alert(1)".to_owned(),
        "data:text/html,x".to_owned(),
    ]);
    misses
}
