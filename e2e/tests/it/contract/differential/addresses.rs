//! Generated addresses for a `redirect_uri`: long ones, and ones put together from
//! parts that are valid, invalid, or valid elsewhere.

use proptest::prelude::*;
use proptest::sample::select;

/// URIs of 2046 to 2050 characters, or a few bytes more.
pub(super) fn long() -> BoxedStrategy<String> {
    let start = select(vec![
        "https://app.example/",
        "http://localhost:3000/",
        "http://[::1]/",
    ]);
    let filling = select(vec!["a", "a/", "~", "é", "%41", "./"]);
    (start, filling, 2046..=2050_usize)
        .prop_map(|(start, filling, length)| filled_to(start, filling, length))
        .boxed()
}

pub(super) fn filled_to(start: &str, filling: &str, length: usize) -> String {
    let filling = filling.chars().cycle();
    start.chars().chain(filling).take(length).collect()
}

/// Addresses put together from parts that are right, wrong, or right elsewhere.
pub(super) fn composed() -> BoxedStrategy<String> {
    let scheme = select(vec![
        "https",
        "https",
        "https",
        "http",
        "http",
        "HTTPS",
        "ftp",
        "https:",
        "javascript",
        "",
    ]);
    let before = select(vec![
        "",
        "",
        "",
        "",
        "",
        "",
        "user@",
        "user:password@",
        "@",
        ":@",
    ]);
    let host = select(vec![
        "app.example",
        "app.example",
        "localhost",
        "localhost",
        "127.0.0.1",
        "[::1]",
        "APP.example",
        "app.example.",
        "localhost.",
        "a..b",
        "a_b",
        "a!b",
        "a~b",
        "xn--bcher-kva.example",
        "bücher.example",
        "a%62c",
        "a b",
        "127.0.0.2",
        "127.255.255.254",
        "127.1",
        "127.0.0.01",
        "127.0.0.256",
        "127.0.0.1.",
        "127.0.0.1.example",
        "128.0.0.1",
        "0.0.0.0",
        "2130706433",
        "0x7f.0.0.1",
        "1.2.3.4",
        "1.2.3.04",
        "256.1.1.1",
        "a.1",
        "a.0x",
        "a.0x1g",
        "[::]",
        "[2001:db8::1]",
        "[2001:DB8::1]",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:7f00:1]",
        "[::ffff:127.0.0.1]",
        "[1]",
        "[]",
        "[::1",
        "::1",
        "",
        "sub.localhost",
        "localhost.example",
    ]);
    let port = select(vec![
        "", "", "", "", ":3000", ":1", ":0", ":00", ":80", ":443", ":8443", ":65535", ":65536",
        ":99999", ":100000", ":080", ":0443", ":", ":x", ":-1", ":３",
    ]);
    let path = select(vec![
        "",
        "/",
        "/",
        "/cb",
        "/cb",
        "/a/b/c",
        "/.",
        "/..",
        "/./cb",
        "/a/../cb",
        "/cb/.",
        "/...",
        "/.cb",
        "/%2e",
        "/%2E%2e/cb",
        "/.%2e",
        "/%2ecb",
        "/%",
        "/%4",
        "/%4g",
        "/%zz",
        "/%41",
        "/%c3%a9",
        "/é",
        "//",
        "//cb",
        "/cb//",
        "/a;b=c,d",
        "/@:!$&'()*+",
        "/a|b",
        "/a^b",
        "/[a]",
        "/a\\b",
        "/a b",
        "/cb?",
        "/cb?x=1",
        "/cb#",
        "/cb#x",
        "?x",
        "#x",
        "cb",
        "/{a}",
        "/a`b",
        "/\"",
    ]);
    (scheme, before, host, port, path)
        .prop_map(|(scheme, before, host, port, path)| {
            format!("{scheme}://{before}{host}{port}{path}")
        })
        .boxed()
}
