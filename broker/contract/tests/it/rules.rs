//! The form of the catalogue, and the search by its sentences.

use std::collections::HashSet;

use contract::{Malformed, Rule, Source};

#[test]
fn no_two_rules_share_an_id_a_sentence_or_an_event() {
    let ids: HashSet<_> = Rule::ALL.iter().map(|rule| rule.id()).collect();
    let sentences: HashSet<_> = Rule::ALL.iter().map(|rule| rule.sentence()).collect();
    assert_eq!(ids.len(), Rule::ALL.len());
    assert_eq!(sentences.len(), Rule::ALL.len());
    let events: HashSet<_> = Rule::ALL.iter().map(|rule| rule.happened()).collect();
    assert_eq!(events.len(), Rule::ALL.len());
    assert!(events.is_disjoint(&sentences), "a rule is no event");
}

#[test]
fn an_id_is_an_area_and_a_name() {
    let is_word = |word: &str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    for rule in Rule::ALL {
        let (area, what) = rule.id().split_once('.').unwrap();
        assert!(is_word(area) && is_word(what), "{rule}");
        assert_eq!(rule.to_string(), rule.id());
    }
}

#[test]
fn no_sentence_begins_another_so_that_a_message_leads_back_to_one_rule() {
    for rule in Rule::ALL {
        for other in Rule::ALL.iter().filter(|other| *other != rule) {
            assert!(
                !rule.sentence().starts_with(other.sentence()),
                "{other} begins {rule}"
            );
        }
    }
}

#[test]
fn a_sentence_is_one_without_its_period_and_the_advice_has_one() {
    for rule in Rule::ALL {
        let advice = rule.advice();
        for sentence in [rule.sentence(), rule.happened()] {
            assert!(
                sentence.starts_with(|c: char| c.is_ascii_uppercase()),
                "{rule}"
            );
            assert!(!sentence.ends_with(['.', '!', '?', ' ']), "{rule}");
        }
        assert!(
            advice.starts_with(|c: char| c.is_ascii_uppercase()),
            "{rule}"
        );
        assert!(advice.ends_with('.'), "{rule}");
    }
}

#[test]
fn a_rule_comes_from_a_section_of_the_specification_or_is_our_choice() {
    for rule in Rule::ALL {
        match rule.source() {
            Source::Spec(section) => {
                assert!(!section.is_empty(), "{rule}");
                assert_eq!(rule.source().to_string(), format!("SPEC {section}"));
            }
            Source::KitChoice => assert_eq!(rule.source().to_string(), "KIT-CHOICE"),
        }
    }
}

#[test]
fn a_message_is_traced_back_to_the_rule_it_begins_with() {
    for rule in Rule::ALL {
        let bare = Malformed(*rule).to_string();
        assert_eq!(bare, rule.sentence());
        assert_eq!(Rule::begun_by(&bare), Some(*rule));
        let wrapped = format!("{bare} at line 1 column 7");
        assert_eq!(Rule::begun_by(&wrapped), Some(*rule));
    }
    assert_eq!(Rule::begun_by(""), None);
    assert_eq!(Rule::begun_by("unknown field `A client_id`"), None);
}

#[test]
fn a_rule_beyond_the_specification_is_a_choice_of_this_kit() {
    for rule in [
        Rule::RedirectUriCanonical,
        Rule::RequestPath,
        Rule::RequestMethod,
        Rule::RequestVerifierInUrl,
        Rule::BodyEncoding,
        Rule::SessionKeyFresh,
        Rule::CodeCallback,
    ] {
        assert_eq!(rule.source(), Source::KitChoice, "{rule}");
    }
}
