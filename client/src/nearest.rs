//! The name that was meant, perhaps.

use strsim::jaro_winkler;

/// How much alike two names must be, of 1.
const ALIKE: f64 = 0.75;

/// The name that is most like this one, if any is.
pub(crate) fn nearest<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let alike = names
        .into_iter()
        .map(|other| (jaro_winkler(name, other), other));
    let nearest = alike.max_by(|(one, _), (other, _)| one.total_cmp(other));
    nearest
        .filter(|(alike, _)| *alike >= ALIKE)
        .map(|(_, name)| name)
}

/// The question whether it was meant, for the end of a sentence.
pub(crate) fn hint(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!(" (do you mean {name:?}?)"))
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_is_seen_and_nothing_else() {
        let names = ["echo", "add", "slow_compute"];
        assert_eq!(nearest("ehco", names), Some("echo"));
        assert_eq!(nearest("slow-compute", names), Some("slow_compute"));
        assert_eq!(nearest("weather", names), None);
        assert_eq!(nearest("echo", []), None);
    }
}
