// The connection to the server: it comes back by itself, and goes on where it was.

const SILENCE = 14000; // ms; the server says something every 5 s
const SLOWEST = 4000; // ms between two tries

function connect(heard) {
  let source = null, known = "", tries = 0, watch = 0, ended = false;

  function lose() {
    source.close();
    clearTimeout(watch);
    tries += 1;
    if (tries <= 2) heard.state(ended ? "ended" : "away");
    // A stream that is refused does not say why.
    if (tries === 2) fetch("/about").then((answer) => answer.status === 401 && heard.state("locked"), () => {});
    setTimeout(open, Math.min(SLOWEST, 250 * 2 ** Math.min(tries, 6)));
  }

  function alive() {
    clearTimeout(watch);
    watch = setTimeout(lose, SILENCE);
  }

  const acts = {
    hello: (said) => {
      tries = 0;
      ended = false;
      heard.hello(said);
      heard.state("here");
    },
    part: (part, name) => {
      heard.part(part);
      known = name;
    },
    beat: () => {},
    end: () => {
      ended = true;
      lose();
    },
  };

  function open() {
    source = new EventSource("/feed" + (known ? "?after=" + encodeURIComponent(known) : ""));
    for (const [kind, act] of Object.entries(acts)) {
      source.addEventListener(kind, (event) => {
        alive();
        act(JSON.parse(event.data), event.lastEventId);
      });
    }
    source.addEventListener("error", lose);
    alive();
  }
  open();
}
