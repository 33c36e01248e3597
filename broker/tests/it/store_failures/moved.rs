//! A database file that is moved, removed or replaced while a broker has it open: what the
//! broker writes then is lost at its next start.

use std::fs;

use crate::installation::Installation;

#[tokio::test]
async fn a_broker_is_not_ready_without_the_file_that_it_opened() {
    let installation = Installation::with_tables();
    let served = installation.serve();
    assert_eq!(served.get("/readyz").await.status, 200);
    let (file, aside) = (installation.database(), installation.scratch.file("aside"));
    fs::rename(&file, &aside).unwrap();
    served.get("/readyz").await.is_refusal(503);
    served.logged("the database was moved, removed or replaced");

    fs::copy(&aside, &file).unwrap();
    served.get("/readyz").await.is_refusal(503);

    fs::rename(&aside, &file).unwrap();
    assert_eq!(served.get("/readyz").await.status, 200);
}
