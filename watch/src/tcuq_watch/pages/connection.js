// The connection to the server: it comes back by itself, and goes on where it was.

const SILENCE = 14000; // ms; the server says something every 5 s
const SLOWEST = 4000; // ms between two tries

function connect(heard) {
  let source = null, known = "", tries = 0, timer = 0, watch = 0, ended = false;

  function again() {
    if (source) source.close();
    source = null;
    clearTimeout(watch);
    clearTimeout(timer);
    tries += 1;
    if (tries === 2) ask();
    timer = setTimeout(open, Math.min(SLOWEST, 250 * 2 ** Math.min(tries, 6)));
  }

  // A stream that is refused does not say why.
  function ask() {
    fetch("/about").then((answer) => answer.status === 401 && heard.state("locked"), () => {});
  }

  function alive() {
    clearTimeout(watch);
    watch = setTimeout(lose, SILENCE);
  }

  function lose() {
    if (tries < 2) heard.state(ended ? "ended" : "away");
    again();
  }

  function open() {
    source = new EventSource("/feed" + (known ? "?after=" + encodeURIComponent(known) : ""));
    const on = (kind, act) => source.addEventListener(kind, (event) => {
      alive();
      act(event);
    });
    on("hello", (event) => {
      tries = 0;
      ended = false;
      heard.hello(JSON.parse(event.data));
      heard.state("here");
    });
    on("part", (event) => {
      heard.part(JSON.parse(event.data));
      known = event.lastEventId;
    });
    on("beat", () => {});
    on("end", () => {
      ended = true;
      lose();
    });
    source.addEventListener("error", lose);
    alive();
  }

  window.addEventListener("online", () => {
    if (!source) {
      clearTimeout(timer);
      open();
    }
  });
  open();
}
