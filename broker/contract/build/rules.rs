//! Makes Rust of `rules.yaml`, for the build scripts of the crates that have an enum of
//! its rows.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs};

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    numbers: BTreeMap<String, u32>,
    rules: Vec<Row>,
}

/// The texts of a rule by their columns, which the head of `rules.yaml` describes.
type Row = BTreeMap<String, String>;

/// Writes `rules.rs` to the output directory: a constant for each number, and a call of
/// the macro `rules` with a line for each row that has all `columns`: its variant, its id,
/// its law, and the texts of these columns.
pub(crate) fn generate(path: &str, columns: &[&str]) -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={path}");
    let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let Document { numbers, rules } = serde_saphyr::from_str(&text)?;
    let mut code = String::new();
    for (name, number) in &numbers {
        writeln!(code, "/// `{name}` of `rules.yaml`.")?;
        writeln!(code, "pub const {}: u32 = {number};", name.to_uppercase())?;
    }
    writeln!(code, "rules! {{")?;
    for row in &rules {
        let id = row.get("id").ok_or("a rule has no id")?;
        if row.contains_key("broker_advice") == row.contains_key("left_out") {
            return Err(format!("{id} has to have either broker_advice or left_out").into());
        }
        let texts = columns.iter().map(|column| row.get(*column));
        let Some(texts) = texts.collect::<Option<Vec<_>>>() else {
            continue;
        };
        let texts: Vec<_> = texts.iter().map(|text| literal(text, &numbers)).collect();
        let (variant, law, texts) = (variant(id), law(row)?, texts.join(", "));
        writeln!(code, "{variant} = {id:?}, {law}, {texts};")?;
    }
    writeln!(code, "}}")?;
    Ok(fs::write(out_dir()?.join("rules.rs"), code)?)
}

/// `session_key.fresh` as `SessionKeyFresh`.
fn variant(id: &str) -> String {
    let capitalised = |word: &str| {
        let (first, rest) = word.split_at(1);
        first.to_uppercase() + rest
    };
    id.split(['.', '_']).map(capitalised).collect()
}

fn law(row: &Row) -> Result<String, String> {
    let law = row.get("law").map_or("", String::as_str);
    match law.strip_prefix("SPEC ") {
        Some(section) => Ok(format!("Spec({section:?})")),
        None if law == "KIT-CHOICE" => Ok("KitChoice".to_owned()),
        None => Err(format!("{row:?} has no law")),
    }
}

/// The text with its numbers, as a literal.
fn literal(text: &str, numbers: &BTreeMap<String, u32>) -> String {
    let insert = |text: String, (name, number): (&String, &u32)| {
        text.replace(&format!("{{{name}}}"), &number.to_string())
    };
    let text = numbers.iter().fold(text.to_owned(), insert);
    assert!(!text.contains('{'), "there is no such number: {text}");
    format!("{text:?}")
}

#[expect(
    clippy::disallowed_methods,
    reason = "Cargo passes the output directory to a build script like this"
)]
pub(crate) fn out_dir() -> Result<PathBuf, &'static str> {
    let path = env::var_os("OUT_DIR").ok_or("OUT_DIR is not set: Cargo runs this script")?;
    Ok(path.into())
}
