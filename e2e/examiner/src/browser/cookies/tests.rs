use super::*;

fn jar(url: &str, line: &str) -> CookieJar {
    let mut jar = CookieJar::default();
    if let Some(cookie) = Cookie::parse(line, &url.parse().unwrap()) {
        jar.store(cookie);
    }
    jar
}

fn sent(jar: &CookieJar, url: &str, relation: Relation, is_visit: bool) -> bool {
    let url = url.parse().unwrap();
    let request = CookieRequest {
        url: &url,
        relation,
        is_document: true,
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
fn a_strict_cookie_does_not_come_back_from_another_site() {
    let strict = jar(APP, "sid=1; Path=/; SameSite=Strict");
    assert!(!sent(&strict, APP, Relation::CrossSite, true));
    assert!(sent(&strict, APP, Relation::SameOrigin, true));
}

#[test]
fn a_lax_cookie_comes_with_visits_and_not_with_forms_of_other_sites() {
    let lax = jar(APP, "sid=1; Path=/; SameSite=Lax");
    assert!(sent(&lax, APP, Relation::CrossSite, true));
    assert!(!sent(&lax, APP, Relation::CrossSite, false));
}

#[test]
fn a_young_cookie_without_samesite_comes_with_forms_of_other_sites_and_not_with_images() {
    let plain = jar(APP, "sid=1; Path=/");
    assert!(sent(&plain, APP, Relation::CrossSite, false));
    let url = APP.parse().unwrap();
    let image = CookieRequest {
        url: &url,
        relation: Relation::CrossSite,
        is_document: false,
        is_visit: false,
    };
    assert_eq!(plain.header(image), None);
}

fn life(attributes: &str) -> Option<Duration> {
    let line = format!("sid=1; Path=/; {attributes}");
    Cookie::parse(&line, &APP.parse().unwrap()).unwrap().life
}

#[test]
fn a_cookie_lives_until_its_date_unless_it_has_an_age() {
    let far = "Expires=Thu, 31 Dec 2099 23:59:59 GMT";
    let years = |life: Option<Duration>| life.map(|it| it.as_secs() / 86_400 / 366);
    assert!(years(life(far)).is_some_and(|it| it >= 10));
    let hyphens = "expires=Thu, 31-Dec-2099 23:59:59 GMT";
    assert!(life(hyphens).is_some_and(|it| it > Duration::ZERO));
    for both in [format!("{far}; Max-Age=60"), format!("Max-Age=60; {far}")] {
        assert_eq!(life(&both), Some(Duration::from_secs(60)), "{both}");
    }
    assert_eq!(life("Expires=tomorrow"), None);
}

#[test]
fn an_age_that_is_no_number_is_ignored_and_not_the_cookie() {
    assert_eq!(jar(APP, "sid=1; Path=/; Max-Age=soon").all().len(), 1);
    assert_eq!(life("Max-Age=soon"), None);
}

#[test]
fn a_cookie_ignores_ports_and_keeps_to_its_path() {
    let cookie = jar(APP, "sid=1; Path=/account");
    assert!(sent(
        &cookie,
        "http://localhost:3000/account/x",
        Relation::None,
        true
    ));
    assert!(!sent(
        &cookie,
        "http://localhost:3000/accounts",
        Relation::None,
        true
    ));
    assert!(!sent(
        &cookie,
        "http://127.0.0.1:5000/account",
        Relation::None,
        true
    ));
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
