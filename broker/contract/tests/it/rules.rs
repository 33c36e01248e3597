//! The form of the catalogue, and the search by its sentences.

use std::collections::HashSet;

use contract::{Malformed, Rule, Source};

#[test]
fn no_two_rules_share_an_id_a_sentence_or_an_event() {
    let ids: HashSet<_> = Rule::ALL.iter().map(|rule| rule.id()).collect();
    let of_both = |rule: &Rule| [rule.sentence(), rule.happened()];
    let sentences: HashSet<_> = Rule::ALL.iter().flat_map(of_both).collect();
    assert_eq!(
        (ids.len(), sentences.len()),
        (Rule::ALL.len(), 2 * Rule::ALL.len())
    );
}

#[test]
fn an_id_is_two_words_a_sentence_has_no_period_and_the_advice_has_one() {
    let is_word_byte = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(is_word_byte);
    for rule in Rule::ALL {
        let (area, what) = rule.id().split_once('.').unwrap();
        assert!(is_word(area) && is_word(what), "{rule}");
        assert_eq!(rule.to_string(), rule.id());
        for sentence in [rule.sentence(), rule.happened(), rule.advice()] {
            assert!(
                sentence.starts_with(|c: char| c.is_ascii_uppercase()),
                "{rule}"
            );
            let is_advice = sentence == rule.advice();
            assert_eq!(
                sentence.ends_with(['.', '!', '?', ' ']),
                is_advice,
                "{rule}"
            );
        }
        assert!(rule.advice().ends_with('.'), "{rule}");
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
fn a_message_is_traced_back_to_the_one_rule_it_begins_with() {
    for rule in Rule::ALL {
        let bare = Malformed(*rule).to_string();
        assert_eq!(bare, rule.sentence());
        assert_eq!(Rule::begun_by(&bare), Some(*rule));
        let wrapped = format!("{bare} at line 1 column 7");
        assert_eq!(Rule::begun_by(&wrapped), Some(*rule));
        let begins = |other: &&Rule| rule.sentence().starts_with(other.sentence());
        assert_eq!(Rule::ALL.iter().filter(begins).count(), 1, "{rule}");
    }
    assert_eq!(Rule::begun_by(""), None);
    assert_eq!(Rule::begun_by("unknown field `A client_id`"), None);
}
