//! What the Rust side adds to the C: states and errors, with a crate that has every part.

use tcuq_cam::{Error, Monitor, CLASSES, FEATURES, STATE_BYTES};

const FEATURE_ROW: [i8; FEATURES] = [5; FEATURES];

fn probs(first: i8) -> [i8; CLASSES] {
    let mut probs = [-128; CLASSES];
    probs[0] = first;
    probs
}

#[test]
fn a_saved_state_goes_on_where_it_was() {
    let mut first = Monitor::new().unwrap();
    for value in 0..100 {
        first.step(&probs(value), &FEATURE_ROW);
    }
    let saved = first.save();
    let mut second = Monitor::new().unwrap();
    second.load(&saved).unwrap();
    for value in (0..100).rev() {
        let expected = first.step(&probs(value), &FEATURE_ROW);
        // A move between steps is no harm.
        let mut moved = second;
        assert_eq!(moved.step(&probs(value), &FEATURE_ROW), expected);
        second = moved;
    }
    assert_eq!(first.save(), second.save());
    assert_eq!(second.verify(), Ok(()));
}

#[test]
fn other_bytes_are_no_state() {
    let mut monitor = Monitor::new().unwrap();
    let mut bytes = monitor.save();
    assert_eq!(monitor.load(&bytes[..8]), Err(Error::Size));
    bytes[STATE_BYTES - 1] ^= 1;
    assert!(monitor.load(&bytes).is_err());
    monitor.reset();
    assert_eq!(monitor.verify(), Ok(()));
}
