//! The placeholders in a seed.

/// Values that are known only when a test runs. In a seed, `{name}` stands for one.
#[derive(Debug, Default)]
pub struct Placeholders(Vec<(&'static str, String)>);

impl Placeholders {
    /// Adds a value; `name` has its braces.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.0.push((name, value.into()));
        self
    }

    /// Replaces each name in `bytes`.
    pub fn fill(&self, bytes: &[u8]) -> Vec<u8> {
        let mut filled = Vec::with_capacity(bytes.len());
        let mut rest = bytes;
        while let Some((first, others)) = rest.split_first() {
            match self.at_the_start_of(rest) {
                Some((name, value)) => {
                    filled.extend_from_slice(value.as_bytes());
                    rest = &rest[name.len()..];
                }
                None => {
                    filled.push(*first);
                    rest = others;
                }
            }
        }
        filled
    }

    /// `seeds`, and the same with the names replaced, so that the values are mutated,
    /// too.
    pub fn doubled(&self, seeds: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        let filled: Vec<_> = seeds.iter().map(|seed| self.fill(seed)).collect();
        let news = seeds.iter().zip(&filled).filter(|(seed, it)| seed != it);
        let news: Vec<_> = news.map(|(_, filled)| filled.clone()).collect();
        [seeds, news].concat()
    }

    fn at_the_start_of(&self, bytes: &[u8]) -> Option<&(&'static str, String)> {
        let mut known = self.0.iter().filter(|_| bytes[0] == b'{');
        known.find(|(name, _)| bytes.starts_with(name.as_bytes()))
    }
}
