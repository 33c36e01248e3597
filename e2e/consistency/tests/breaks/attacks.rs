//! The attack on each guard, carried out by a real browser in a copy of the tree that lacks
//! the guards which the attack needs off.

use agent::tree::Edit;
use consistency::guards::Guard;
use serde::Deserialize;
use strum::VariantArray as _;

use super::assert_fits;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    guard: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    id: String,
    edit: Vec<Edit>,
}

fn rows() -> Vec<Row> {
    let table: Table = toml::from_str(include_str!("guards.toml")).expect("the table");
    table.guard
}

/// In the copy, the test of the attacks carries out this one alone, and demands that it
/// succeeds.
fn switch(guard: &str) -> Edit {
    Edit {
        file: "e2e/tests/browser/attacks.rs".into(),
        find: "const WITHOUT: Option<&str> = None;".into(),
        replace: format!("const WITHOUT: Option<&str> = Some(\"{guard}\");").into(),
    }
}

#[test]
fn every_guard_can_be_removed() {
    let mut rows = rows();
    for row in &rows {
        assert_fits(&row.id, &row.edit);
    }
    assert_fits("the attacks", &[switch("any")]);
    let guards: Vec<_> = Guard::VARIANTS.iter().map(ToString::to_string).collect();
    rows.sort_by_key(|row| guards.iter().position(|it| *it == row.id));
    assert!(rows.iter().map(|row| &row.id).eq(&guards));
}

/// Declares a test for each guard.
#[cfg(feature = "breaks")]
macro_rules! attacks {
    ($($name:ident)+) => {
        const NAMES: &[&str] = &[$(stringify!($name)),+];

        $(#[test]
        fn $name() {
            let guard = stringify!($name).replace('_', "-");
            let copy = crate::applied::Broken::with(&edits(&guard));
            copy.cargo("test", &["-p", "e2e", "--features", "browser", "--test", "browser", "attacks::"]);
        })+
    };
}

#[cfg(feature = "breaks")]
mod carried_out {
    use agent::tree::Edit;
    use consistency::guards::search_attacks;
    use strum::VariantArray as _;

    use super::{Guard, rows, switch};

    fn edits(guard: &str) -> Vec<Edit> {
        let mut attacks = search_attacks()
            .expect("an attack on each guard")
            .attacks
            .into_iter();
        let (_, attack) = attacks
            .find(|(it, _)| it.to_string() == guard)
            .expect("a guard");
        let off: Vec<_> = attack.off().map(|it| it.to_string()).collect();
        let removed = rows().into_iter().filter(|row| off.contains(&row.id));
        removed
            .flat_map(|row| row.edit)
            .chain([switch(guard)])
            .collect()
    }

    attacks! {
        same_origin_start login_cookie session_renewal pending_kept state state_of_session
        transaction_once app_host_prefix lax_not_none lax_not_strict confirmation
        confirmation_origin frame_ancestors one_browser secret_handle upstream_cookie
        upstream_state callback_provider same_traits broker_host_prefix upstream_once issuer
        upstream_pkce nonce complete_once redirect_exact pkce code_project code_callback
        code_once private_addresses dedicated_host own_logins_only
    }

    #[test]
    fn every_attack_has_a_test() {
        let guards = Guard::VARIANTS
            .iter()
            .map(|it| it.to_string().replace('-', "_"));
        assert!(guards.eq(NAMES.iter().copied()));
    }
}
