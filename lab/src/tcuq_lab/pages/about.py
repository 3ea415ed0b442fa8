"""What each experiment is, for a reader who has seen nothing else, and in which order they are shown."""

from __future__ import annotations

OLDER = "Rows of ours are of the monitor of version 0.2: alarm and heads have changed since."
NEWER = "Rows of ours are of the monitor that is to be version 0.3."
PARAGRAPHS = {
    "answers": (
        "Which answers are wrong, and how many errors are left if you drop those with the highest risk? "
        "Every method sees the same streams: shuffled, with classes that stay, with objects that are held, "
        "with continuous sound, and with a pace that changes. `error AUROC` ranks errors of a method's own "
        "answers, `prediction error AUROC` errors of the plain network's prediction, the same events for "
        "every method."
    ),
    "alarms": (
        "How soon does an alarm come after a shift, how long does it stay, and how often does it come for "
        "nothing? Limits are set on development data alone; a second table has all alarms at the same rate "
        "of false alarms."
    ),
    "accuracy": (
        "How accurate is the classifier now, without labels? The figure is the mean distance between the "
        "estimate and the true accuracy of 200 steps."
    ),
    "questions": (
        "What does each part of the monitor add, how much data is enough, what does int8 cost? One part is "
        "taken out or changed at a time."
    ),
    "drop": (
        "Does a score rise when accuracy falls? A drop event is a step at which accuracy over the last 100 "
        "steps lies three standard deviations below that of clean streams. Streams alternate between clean "
        "and corrupted stretches, one corruption type each; the figure is the area under the "
        "precision-recall curve of the smoothed score, averaged over corruption types that no method saw in "
        "development."
    ),
    "severity": (
        "The same question with one severity of corruption at a time. At low severity a stream may hold no "
        "drop at all; then the figure is undefined on it and left out."
    ),
    "severity_tinyimagenet": (
        "The same on TinyImageNet with a MobileNetV2. Few streams hold a drop at severity 1: a network that "
        "is right on 63 of 100 clean pictures has a wide band."
    ),
    "deeper": "The same with a ResNet-50, far beyond a microcontroller: must a network be small for this?",
    "literal": (
        "The order of the paper, clean first and then worse and worse, beside alternating stretches of the "
        "same examples. A clock, which only counts steps, shows how much of a figure the order alone can "
        "give."
    ),
    "failure": (
        "Is this answer wrong, or this input none of the classes? Errors are told from right answers on "
        "clean and corrupted steps together and on clean ones alone; OOD inputs, of none of the "
        "classes, from right answers on clean steps, when they stay for a while and when they come one at a "
        "time."
    ),
    "selective": (
        "What is gained by leaving out the steps with the highest risk: error rate among those that are "
        "kept, by the share that is kept."
    ),
    "ablation": (
        "What each part of TCUQ is worth: signals with a past, the adapting threshold, learned weights."
    ),
    "assistance": (
        "The same network trained with and without the paper's temporal assistance, which leaves nothing "
        "behind at inference. No monitor takes part."
    ),
    "trainings": (
        "The same network trained plainly, with assisting exits, and with exits that learn without a say in "
        "the backbone (probe): what the exits do to posteriors, and how the loss of the first one falls."
    ),
    "trainings_weights": "Weights of exits in the loss: exit k, counted from 1, weighs what its row says.",
    "trainings_exits": (
        "MobileNetV2 with 2 to 10 assisting exits. Its dataset is a part of the paper's, so that figures "
        "cannot be compared, only where they rise and fall."
    ),
    "exits": "Early exits with and without the last one, and with lighter heads. No monitor takes part.",
    "calibration": (
        "How far posteriors can be believed, on clean test examples shown once. A monitor changes no "
        "posterior, so that TCUQ has the figures of the network that it watches."
    ),
    "calibration_tinyimagenet": "The same on TinyImageNet.",
    "temperature": (
        "Temperature scaling of the network, and in front of TCUQ: calibration on clean test examples."
    ),
    "temperature_drops": "Temperature scaling of the network, and in front of TCUQ: drops of accuracy.",
    "postnet": "Posterior networks, trained to know what they do not know, beside the plain network.",
    "headlines": (
        "How much better is the monitor than each rival, if every method is fitted at the dwell of the "
        "stream? Drops, OOD inputs and delays at equal run lengths, with paired differences."
    ),
    "ablation_tinyimagenet": "The same on TinyImageNet with a MobileNetV2.",
    "backbones": "Does the monitor work behind other networks: transformers, text, larger pictures?",
    "promises": (
        "What is promised for every input, counted on the test streams: the flag rate within its bound, no "
        "more abstentions than the budget, none beyond a burst."
    ),
}
"""By the name of the experiment; others have their title alone."""

ORDER = tuple(PARAGRAPHS)

STREAMS = """- **class N**: every step shows another example; a class stays N steps on average. \
**shuffled**: class 1.
- **object 16**, a held object: one picture is held for 16 steps on average, and shaken at every step. \
**continuous sound**: windows of one second slide over words, 0.2 s apart.
- **heavy-tailed 16**: most runs of a class are short, a few very long. **unknown pace**: the dwell changes \
between 2, 8 and 32 every 250 steps (`changing pace` in result files).
- Half of the steps of a stream are clean, half are in segments with one corruption type at one severity, \
the level of the corruption from 1 to 5. **type X**: shuffled, one corruption type, \
one severity after the other. **clean**: no corruption.
- **mixed**: runs of 12 steps on average, heavy-tailed; a coin decides whether a run holds one object or \
shows new examples (for sound: overlapping windows). Shifts last 600 to 1,100 steps, half of them with a \
slow onset where a suite has severities; among them a benign one and faults of the sensor. **long runs**: \
of 80 steps. **one class 70 %**; **fast**: another class at each step; **short shifts**: of 30 to 100 steps; \
**clean**. All six have one development stream and its clean log, and that fit is shown (`told`).
- Fits: **mixed paces**, on a development stream that mixes dwells of 1, 4, 16 and 64 (shown where nothing \
else is said; `untold` in result files); **same pace**, fitted on the pace of the test stream (`told`); \
**other pace**, on another one (`other`). Corruption types of the test are in none of them.
- Rows: `tcuq` is the standard monitor fitted with `about='prediction'`: its risk is that of the network's \
prediction. `tcuq answer` is the default, `about='answer'`: it judges its own answer. `tcuq no labels` is \
fitted without labels (for prediction error AUROC with `about='prediction'`). `base` is the network's \
confidence, `deep` the ensemble of five."""
"""How to read streams, fits and rows."""

ASKS = {
    "answers": "Which answers are wrong, and how many errors are left?",
    "alarms": "How soon does an alarm come, and how often for nothing?",
    "accuracy": "How accurate is the classifier now, without labels?",
    "questions": "What does each part of the monitor add, how much data is enough, what does int8 cost?",
    "backbones": "Does the monitor work behind transformers, with text and with larger pictures?",
    "drop": "Does a score rise when accuracy falls?",
    "severity": "Does a score rise when accuracy falls, at every severity of corruption?",
    "severity_tinyimagenet": "Does a score rise when accuracy falls, on TinyImageNet with a MobileNetV2?",
    "deeper": "Does a score rise when accuracy falls with a ResNet-50, far beyond a microcontroller?",
    "literal": "How much can the order of a stream alone give?",
    "failure": "Is this answer wrong, or this input none of the classes?",
    "selective": "What is gained by leaving out the steps with the highest risk?",
    "ablation": "What is each part of the paper's monitor worth?",
    "assistance": "What does the paper's temporal assistance in training change?",
    "trainings": "Do assisting exits change posteriors, and does the loss fall faster?",
    "trainings_weights": "What do weights of exits in the loss change?",
    "trainings_exits": "How many assisting exits are best?",
    "exits": "What do the last exit and full heads give early exits?",
    "calibration": "How far can posteriors be believed on clean data of the three tasks?",
    "calibration_tinyimagenet": "How far can posteriors be believed on clean TinyImageNet?",
    "temperature": "Does temperature scaling help calibration?",
    "temperature_drops": "Does temperature scaling help to find drops of accuracy?",
    "postnet": "Are posterior networks better calibrated than the plain network?",
    "headlines": "How much better is the monitor, if every method is fitted at the dwell of the stream?",
    "promises": "Does what is promised for every input hold on the test streams?",
}
"""What each experiment asks, in a few words."""

READING = (
    "Dwell is the mean number of steps that a class stays; at 1 a stream is shuffled and time says "
    "nothing. Corruption types are split: methods are fitted with some, the others are seen in the "
    "test alone (unseen). Intervals hold 95 %, from corruption types drawn again; where figures have no "
    "types to draw from they span the seeds, or the examples. The best figure of a column is marked; rows "
    "without a figure of it, or with one on fewer streams, say so. An AUPRC of drops says little where most "
    "steps are events, as their share shows; where the plain network has 0.99 or more, no room is left."
)


def ordered(names: list[str]) -> list[str]:
    """Return names of experiments as they are shown: known ones first.

    Examples
    --------
    >>> ordered(["promises", "else", "drop"])
    ['drop', 'promises', 'else']
    """
    return sorted(names, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))
