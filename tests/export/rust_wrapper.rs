//! What the Rust side adds to the C: states, errors and frames, with a crate that has every part.

use tcuq_cam::frames::Frames;
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

#[test]
fn frames_hold_all_steps_and_a_state() {
    let mut monitor = Monitor::new().unwrap();
    let mut frames = Frames::<67>::decisions(1).unwrap();
    let (mut sent, mut line) = (0, Vec::new());
    for value in 0..100 {
        let step = monitor.step(&[value - 50; CLASSES], &FEATURE_ROW);
        let frame = frames.decision(&step);
        sent += usize::from(!frame.is_empty());
        line.extend_from_slice(frame);
        frames = core::convert::identity(frames);
    }
    assert!(sent >= 50 && line.len() > 100 * 2 && frames.flush().len() <= 67);
    frames.skip(3);
    let mut parts = 0;
    frames.state(&monitor.save(), |part| {
        assert!(part.len() <= 67 && part[2] == 0xFB);
        parts += 1;
    });
    assert!(parts >= 2 && frames.flush().is_empty());
}

#[test]
fn a_buffer_that_is_too_small_is_refused() {
    assert_eq!(Frames::<66>::decisions(1).err(), Some(Error::Size));
    assert_eq!(Frames::<28>::posteriors(1).err(), Some(Error::Size));
    let mut frames = Frames::<3000>::posteriors(1).unwrap();
    assert!(frames.step(&[1; CLASSES], &FEATURE_ROW).is_empty());
    assert!(frames.flush().len() > CLASSES);
}
