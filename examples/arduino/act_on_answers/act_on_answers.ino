// Act on a classifier's answers only while the monitor trusts them; the LED is on while the alarm is.
//
//   hold   the alarm is on: the stream has become worse, do not act on any answer
//   ask    not sure about this answer, or the monitor is still warming up: wait for the next one
//   act    use the answer
//
// The sketch prints a line when what to do changes. Needs the library tcuq_monitor: examples/README.md says how to make it.
#include <monitor_arduino.h>

static tcuq_t state;
static uint32_t ring[MONITOR_RING_BYTES / 4u];
static int8_t probs[MONITOR_CLASSES];
static const char *last = "";
static unsigned count;

// Stands in for your model: posteriors as an int8 softmax leaves them (scale 1/256, zero point -128).
// The class changes every 12 steps. From step 400 on, the model is not sure of anything.
static void read_model()
{
  static uint32_t noise = 1u;
  const size_t top = (count / 12u) % MONITOR_CLASSES;
  noise = noise * 1664525u + 1013904223u;
  const int share = (count < 400u ? 220 : 90) + (int)(noise >> 28);
  for (size_t i = 0; i < MONITOR_CLASSES; i++) {
    probs[i] = (int8_t)((i == top ? share : (256 - share) / (int)(MONITOR_CLASSES - 1u)) - 128);
  }
}

static void stop_on(const char *what, int status)
{
  while (status != 0) {
    Serial.print(what);
    Serial.println(status);
    delay(1000);
  }
}

void setup()
{
  Serial.begin(115200);
  pinMode(LED_BUILTIN, OUTPUT);
  stop_on("self-check failed: ", monitor_selfcheck(ring, sizeof ring));
  stop_on("tcuq_init failed: ", tcuq_init(&state, &monitor, ring, sizeof ring));
}

void loop()
{
  tcuq_step_t step;
  read_model();
  tcuq_step(&state, probs, NULL, &step, NULL);
  // The alarm comes first: while it is on, an accepted step is not safe either.
  const char *action = step.alarm ? "hold" : step.abstain || step.warming_up ? "ask" : "act";
  digitalWrite(LED_BUILTIN, step.alarm ? HIGH : LOW);
  if (action != last) {
    Serial.print("step ");
    Serial.print((int)count);
    Serial.print(": ");
    Serial.println(action);
    last = action;
  }
  count++;
  delay(20);
}
