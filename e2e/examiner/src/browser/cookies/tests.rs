use super::*;

fn jar(url: &str, line: &str) -> CookieJar {
    let mut jar = CookieJar::default();
    if let Some(cookie) = Cookie::parse(line, &url.parse().unwrap()) {
        jar.store(cookie);
    }
    jar
}

fn sent(jar: &CookieJar, url: &str, relation: Relation, is_document: bool, is_visit: bool) -> bool {
    let url = url.parse().unwrap();
    let request = CookieRequest {
        url: &url,
        relation,
        is_document,
        is_visit,
    };
    jar.header(request).is_some()
}

const APP: &str = "http://localhost:5000/login";

#[test]
fn of_cookies_without_end_the_latest_are_kept() {
    let mut jar = CookieJar::default();
    for number in 0..1_000 {
        let cookie = Cookie::parse(&format!("c{number}=1"), &APP.parse().unwrap());
        jar.store(cookie.unwrap());
    }
    assert_eq!(jar.all().len(), MAX_COOKIES);
    assert_eq!(jar.all().last().unwrap().name, "c999");
}

#[test]
fn a_cookie_comes_with_the_requests_for_which_its_samesite_allows_it() {
    use Relation::{CrossSite, SameOrigin};
    for (same_site, relation, is_document, is_visit, comes) in [
        ("; SameSite=Strict", CrossSite, true, true, false),
        ("; SameSite=Strict", SameOrigin, true, true, true),
        ("; SameSite=Lax", CrossSite, true, true, true),
        ("; SameSite=Lax", CrossSite, true, false, false),
        // A young one without SameSite comes with forms, and not with images.
        ("", CrossSite, true, false, true),
        ("", CrossSite, false, false, false),
    ] {
        let jar = jar(APP, &format!("sid=1; Path=/{same_site}"));
        let seen = sent(&jar, APP, relation, is_document, is_visit);
        assert_eq!(
            seen, comes,
            "{same_site} {relation:?} {is_document} {is_visit}"
        );
    }
}

#[test]
fn a_cookie_ignores_ports_and_keeps_to_its_path() {
    let cookie = jar(APP, "sid=1; Path=/account");
    for (url, comes) in [
        ("http://localhost:3000/account/x", true),
        ("http://localhost:3000/accounts", false),
        ("http://127.0.0.1:5000/account", false),
    ] {
        assert_eq!(
            sent(&cookie, url, Relation::None, true, true),
            comes,
            "{url}"
        );
    }
}

fn life(attributes: &str) -> Option<Duration> {
    let line = format!("sid=1; Path=/; {attributes}");
    Cookie::parse(&line, &APP.parse().unwrap()).unwrap().life
}

#[test]
fn a_cookie_lives_until_its_date_unless_it_has_an_age() {
    let far = "Expires=Thu, 31 Dec 2099 23:59:59 GMT";
    for date in [far, "expires=Thu, 31-Dec-2099 23:59:59 GMT"] {
        let years = life(date).map_or(0, |it| it.as_secs() / 86_400 / 366);
        assert!(years >= 10, "{date}");
    }
    for both in [format!("{far}; Max-Age=60"), format!("Max-Age=60; {far}")] {
        assert_eq!(life(&both), Some(Duration::from_secs(60)), "{both}");
    }
    // What is no date or no number is ignored, and not the cookie.
    for neither in ["Expires=tomorrow", "Max-Age=soon"] {
        assert_eq!(life(neither), None, "{neither}");
    }
}

#[test]
fn what_a_browser_refuses_is_not_stored() {
    for refused in [
        "sid=1; SameSite=None",
        "__Host-sid=1; Path=/; Secure",
        "__Secure-sid=1; Secure",
        "sid=1; Domain=elsewhere.example",
    ] {
        assert!(jar(APP, refused).all().is_empty(), "{refused}");
    }
    let host = "__Host-sid=1; Path=/; Secure; SameSite=Lax";
    assert_eq!(jar("https://localhost:5000/", host).all().len(), 1);
}

#[test]
fn a_cookie_of_no_age_deletes_its_namesake() {
    for end in [
        "sid=; Path=/; Max-Age=0",
        "sid=; Path=/; Max-Age=-1",
        "sid=; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
        "sid=; Path=/; Expires=Thu, 01-Jan-1970 00:00:01 GMT",
        "sid=; Path=/; Expires=Sun, 01 Nov 2020 08:00:00 GMT",
    ] {
        let mut jar = jar(APP, "sid=1; Path=/");
        jar.store(Cookie::parse(end, &APP.parse().unwrap()).unwrap());
        assert!(jar.all().is_empty(), "{end}");
    }
}
