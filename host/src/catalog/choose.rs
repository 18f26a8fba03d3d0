//! Which version of each file serves, so that no name is served twice.
//!
//! Invariants: what serves has unique names; a file's new version that would take another's name is
//! refused, and its old version, if it has one, serves on. So a reload never takes a tool from whom it
//! does not concern.

use std::collections::HashMap;
use std::hash::Hash;

/// What a file offers: the names of its tools, prompts and resources.
pub(super) struct Offer<N> {
    /// Those of the version that served before.
    pub(super) old: Option<Vec<N>>,
    /// Those of the version that is there now, if it is good.
    pub(super) new: Option<Vec<N>>,
    /// The two are the same version.
    pub(super) same: bool,
}

impl<N> Offer<N> {
    /// The names of the version that was chosen.
    pub(super) fn names(&self, choice: &Choice<N>) -> &[N] {
        let names = match choice {
            Choice::New => &self.new,
            Choice::Old(_) => &self.old,
        };
        names.as_deref().unwrap_or_default()
    }
}

/// Which version serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice<N> {
    New,
    /// The old one, or none; and the name that was the other file's already, if that is why.
    Old(Option<(N, usize)>),
}

/// A file that gives way, the name because of which it does, and the file that has it.
pub(super) type Clash<N> = (usize, N, usize);

/// Chooses for all files. Of two new versions with one name, the one that was named first has it. Names may
/// be in each other's way though they are not the same: `other_clash` finds that, and lets only a new
/// version give way.
pub(super) fn choose<N: Copy + Eq + Hash>(
    offers: &[Offer<N>],
    other_clash: impl Fn(&[Choice<N>]) -> Option<Clash<N>>,
) -> Vec<Choice<N>> {
    let mut choices: Vec<_> = offers
        .iter()
        .map(|offer| match offer.new {
            Some(_) => Choice::New,
            None => Choice::Old(None),
        })
        .collect();
    // Each round takes one file back to its old version. Old versions together have unique names.
    while let Some((loser, name, winner)) =
        clash(offers, &choices).or_else(|| other_clash(&choices))
    {
        choices[loser] = Choice::Old(Some((name, winner)));
    }
    choices
}

/// The first name that two files would serve: which of them gives way, and to whom.
fn clash<N: Copy + Eq + Hash>(offers: &[Offer<N>], choices: &[Choice<N>]) -> Option<Clash<N>> {
    let is_new = |index: usize| choices[index] == Choice::New && !offers[index].same;
    let mut owners: HashMap<N, usize> = HashMap::new();
    for (index, (offer, choice)) in offers.iter().zip(choices).enumerate() {
        for name in offer.names(choice) {
            match owners.get(name) {
                None => {
                    owners.insert(*name, index);
                }
                // The other one was there before.
                Some(owner) if is_new(index) => return Some((index, *name, *owner)),
                Some(owner) => return Some((*owner, *name, index)),
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn offer(old: Option<&[u8]>, new: Option<&[u8]>) -> Offer<u8> {
        Offer {
            old: old.map(<[u8]>::to_vec),
            new: new.map(<[u8]>::to_vec),
            same: old.is_some() && old == new,
        }
    }

    #[test]
    fn a_new_version_takes_no_name_that_another_file_serves() {
        let offers = [
            offer(Some(&[1]), Some(&[1, 2])),
            offer(Some(&[2]), Some(&[2])),
        ];
        assert_eq!(
            choose(&offers, |_| None),
            [Choice::Old(Some((2, 1))), Choice::New]
        );
    }

    #[test]
    fn a_name_may_move_from_one_file_to_another() {
        let offers = [
            offer(Some(&[1, 2]), Some(&[1])),
            offer(Some(&[3]), Some(&[2, 3])),
        ];
        assert_eq!(choose(&offers, |_| None), [Choice::New, Choice::New]);
    }

    #[test]
    fn whoever_cannot_give_a_name_up_keeps_it() {
        // The first would give 2 up, but takes 4, which the third has; so the second cannot have 2.
        let offers = [
            offer(Some(&[1, 2]), Some(&[1, 4])),
            offer(Some(&[3]), Some(&[2, 3])),
            offer(Some(&[4]), Some(&[4])),
        ];
        let choices = choose(&offers, |_| None);
        assert_eq!(choices[0], Choice::Old(Some((4, 2))));
        assert_eq!(choices[1], Choice::Old(Some((2, 0))));
        assert_eq!(choices[2], Choice::New);
    }

    proptest! {
        #[test]
        fn names_are_unique_and_nobody_loses_a_tool_to_a_clash(
            // Each name has at most one owner before; after, anyone may claim it.
            owners in prop::collection::vec(prop::option::of(0usize..5), 8),
            claims in prop::collection::vec(prop::option::of(prop::collection::hash_set(0u8..8, 0..4)), 5),
        ) {
            let offers: Vec<_> = claims.iter().enumerate().map(|(index, claim)| {
                let old: Vec<u8> = (0u8..8).filter(|name| owners[usize::from(*name)] == Some(index)).collect();
                let new = claim.as_ref().map(|names| names.iter().copied().collect::<Vec<_>>());
                let same = new.as_ref().is_some_and(|new| {
                    !old.is_empty() && new.iter().collect::<HashSet<_>>() == old.iter().collect()
                });
                Offer { old: (!old.is_empty()).then_some(old), new, same }
            }).collect();
            let choices = choose(&offers, |_| None);
            let mut seen = HashSet::new();
            for (offer, choice) in offers.iter().zip(&choices) {
                for name in offer.names(choice) {
                    prop_assert!(seen.insert(*name), "{name} is served twice");
                }
                // An unchanged file is never the one that gives way.
                prop_assert!(!offer.same || *choice == Choice::New);
            }
        }
    }
}
