//! A PostgreSQL server that refuses the broker's password.

use crate::installation::Installation;
use crate::storage::postgres::Schema;

const RIGHT: &str = "Swordfish-7vK2mW9pL4tR8sB3nF6hJ1dG5yC0";
const WRONG: &str = "Anchovies-7vK2mW9pL4tR8sB3nF6hJ1dG5yC0";

#[tokio::test]
async fn a_wrong_password_is_one_line_and_no_password_is_shown() {
    let schema = Schema::with_password(RIGHT).await;
    let output = Installation::with_store(&schema.url_with(RIGHT)).check();
    assert_eq!(output.code, Some(0), "{}", output.err);
    assert!(!output.out.contains(RIGHT), "{}", output.out);
    let output = Installation::with_store(&schema.url_with(WRONG)).check();
    for part in [
        "cannot open postgres://[redacted]",
        "password authentication failed",
        "store.url",
    ] {
        output.failed(part);
    }
    assert!(!output.err.contains(WRONG) && !output.out.contains(WRONG));
}

#[tokio::test]
async fn a_broker_with_a_wrong_password_answers_503_until_it_is_right() {
    let schema = Schema::with_password(RIGHT).await;
    let served = Installation::with_store(&schema.url_with(WRONG)).serve();
    let answers = [served.get("/readyz").await, served.session(1).await];
    for answer in answers {
        answer.is_refusal(503);
        assert!(!answer.text().contains(WRONG));
    }
    served.logged("password authentication failed");

    schema.change_password(WRONG).await;
    assert_eq!(served.get("/readyz").await.status, 200);
    assert_eq!(served.session(1).await.status, 200);
    let log = served.kill();
    assert!(!log.contains(WRONG), "{log}");
}
