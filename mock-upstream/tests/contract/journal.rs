//! The journal of requests.

use mock_upstream::Provider;
use mock_upstream::journal::CAPACITY;

use crate::test_mock::{
    CLIENT_SECRET, NONCE, STATE, TestMock, VERIFIER, authorization, redemption,
};

#[tokio::test]
async fn every_request_is_recorded_in_order() {
    let mock = TestMock::new().await;
    let start = mock.now_ms();
    let code = mock.code(Provider::Google).await;
    mock.advance_ms(5);
    mock.token(Provider::Google, &redemption(&code)).await;
    let entries = mock.upstreams.google().journal();
    let recorded: Vec<_> = entries
        .iter()
        .map(|entry| {
            (
                entry.at - start,
                entry.method.as_str(),
                entry.path.as_str(),
                entry.status,
            )
        })
        .collect();
    let expected = [
        (0, "GET", "/o/oauth2/v2/auth", Some(302)),
        (5, "POST", "/token", Some(200)),
    ];
    assert_eq!(recorded, expected);
    assert_eq!(mock.upstreams.github().journal(), []);
}

#[tokio::test]
async fn an_entry_as_json_has_the_members_of_the_control_api() {
    let mock = TestMock::new().await;
    let url = format!(
        "{}/nothing?a=1&%63ode=2&flag",
        mock.upstreams.google().url()
    );
    mock.get(&url).await;
    let entries = serde_json::to_value(mock.upstreams.google().journal()).unwrap();
    let expected = serde_json::json!([{
        "at": mock.now_ms(),
        "method": "GET",
        "path": "/nothing",
        "query": "a=1&%63ode=[masked]&flag",
        "status": 404,
    }]);
    assert_eq!(entries, expected);
}

#[tokio::test]
async fn no_secret_is_recorded() {
    let mock = TestMock::new().await;
    for provider in Provider::ALL {
        let code = mock.code(provider).await;
        let form = redemption(&code);
        mock.token(provider, &form).await;
        // A client can put them into the query by mistake.
        mock.get(&format!("{}?{}", mock.token_url(provider), form.encoded()))
            .await;
        let journal = format!("{:?}", mock.upstream(provider).journal());
        let challenge = authorization(provider)
            .get("code_challenge")
            .unwrap()
            .to_owned();
        let state = STATE.split(' ').next().unwrap();
        let written = journal
            .replace("state=", "")
            .replace("grant_type=authorization_code", "");
        for secret in [
            &code,
            CLIENT_SECRET,
            VERIFIER,
            NONCE,
            &challenge,
            &format!("{state}+"),
        ] {
            assert!(!written.contains(secret), "{secret} in {written}");
        }
        assert!(journal.contains("state=[masked]"));
    }
}

#[tokio::test]
async fn a_full_journal_drops_its_oldest_entries() {
    let mock = TestMock::new().await;
    for number in 0..CAPACITY + 2 {
        let url = format!("{}/{number}", mock.upstreams.github().url());
        mock.get(&url).await;
    }
    let entries = mock.upstreams.github().journal();
    assert_eq!(entries.len(), CAPACITY);
    assert_eq!(entries[0].path, "/2");
}
