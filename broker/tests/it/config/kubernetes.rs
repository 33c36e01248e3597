//! The shipped Kubernetes manifest: its configuration is one that the broker takes, and it
//! leaves the broker the time to stop.

use serde_json::Value;

use super::{LOCAL, accepted};
use crate::command::BrokerCommand;
use crate::scratch::Scratch;

const MANIFEST: &str = include_str!("../../../kubernetes/broker.yaml");

/// The objects of the manifest, with values for its placeholders.
fn objects() -> Vec<Value> {
    let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
    let manifest = MANIFEST
        .replace("SIGNIN.EXAMPLE", "signin.example")
        .replace("32-RANDOM-BYTES-IN-BASE64URL", key)
        .replace("POSTGRES-HOST", "127.0.0.1:1");
    serde_saphyr::from_multiple(&manifest).unwrap()
}

fn object(kind: &str) -> Value {
    let found = objects().into_iter().find(|it| it["kind"] == kind);
    found.unwrap_or_else(|| panic!("there is no {kind}"))
}

#[test]
fn the_broker_takes_the_manifests_configuration() {
    let file = &object("ConfigMap")["data"]["broker.toml"];
    let scratch = Scratch::new();
    let config = scratch.write("broker.toml", file.as_str().unwrap());
    // The mode of a mounted ConfigMap: any user may read it.
    scratch.set_mode("broker.toml", 0o644);
    let mut check = BrokerCommand::with("check", &config);
    for (name, value) in object("Secret")["stringData"].as_object().unwrap() {
        check = check.env(name, value.as_str().unwrap());
    }
    let output = check.output();
    output.failed("cannot open postgres://");
    for line in [
        "listening  on 0.0.0.0:8000 as https://signin.example",
        "google     enabled",
        "github     enabled",
        "cookies    one key",
    ] {
        assert!(output.out.contains(line), "{line} in {}", output.out);
    }
}

#[test]
fn the_manifests_grace_period_is_longer_than_the_broker_needs_to_stop() {
    let pod = &object("Deployment")["spec"]["template"]["spec"];
    let sleep = &pod["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"];
    let stop = u64::from(accepted(LOCAL).shutdown_seconds) + 2;
    let needed = sleep.as_u64().unwrap() + stop;
    let grace = pod["terminationGracePeriodSeconds"].as_u64().unwrap();
    assert!(grace > needed, "{grace} s for {needed} s");
}
