//! Makes the requirements of `rules.yaml`, which lies beside the contract. A build script
//! reads it, so the program links neither the contract nor the broker.

#[path = "../../broker/contract/build/rules.rs"]
mod rules;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    rules::generate(
        "../../broker/contract/rules.yaml",
        &["sentence", "broker_advice"],
    )
}
