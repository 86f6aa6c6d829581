// Where everything is put together.

const data = JSON.parse(document.getElementById('data').textContent);
const timeline = new Timeline(data);
const player = new Player(data.film, timeline);
const views = data.windows.map((w) => new View(w));

for (const section of document.querySelectorAll('[data-window]')) {
  const view = views[section.dataset.window];
  for (const box of section.querySelectorAll('[data-strip]')) {
    new Strip(box, view, timeline, player);
  }
  for (const box of section.querySelectorAll('[data-chart]')) {
    const i = box.dataset.chart;
    new Chart(box, section.querySelector(`[data-legend="${i}"]`), view.data.charts[i], view, timeline, player);
  }
  for (const button of section.querySelectorAll('[data-zoom]')) {
    button.addEventListener('click', () => zoom(view, button.dataset.zoom));
  }
}

// current is the view of the window in which the timeline stands.
function current() {
  return views.find((v) => {
    const t = timeline.time - v.data.from;
    return t >= v.whole[0] && t <= v.whole[1];
  });
}

function zoom(view, how) {
  if (how === 'all') {
    view.all();
    return;
  }
  const t = timeline.time - view.data.from;
  view.zoom(how === 'in' ? 0.5 : 2, t >= view.from && t <= view.to ? t : undefined);
}

timeline.onMove(() => current()?.reveal(timeline.time - current().data.from));

for (const button of document.querySelectorAll('[data-frame]')) {
  button.addEventListener('click', () => player.seekFrame(Number(button.dataset.frame)));
}
for (const button of document.querySelectorAll('[data-play]')) {
  const w = data.windows[button.dataset.play];
  button.addEventListener('click', () => player.playRange(w.start, w.end));
}

if (player.video) {
  controls();
}

function controls() {
  const get = (id) => document.getElementById(id);
  const {video} = player;
  const [x, y, width, height] = data.film.content.map((part) => 100 * part + '%');
  Object.assign(get('over').style, {left: x, top: y, width, height});
  const shape = (ratio) => get('stage').style.setProperty('--ratio', ratio);
  shape(data.width / data.height || 16 / 9);
  video.addEventListener('loadedmetadata', () => shape(video.videoWidth / video.videoHeight));
  const scrub = get('scrub');
  scrub.max = timeline.frames.length - 1;
  scrub.addEventListener('input', () => {
    player.pause();
    player.seek(Number(scrub.value));
  });
  get('play').addEventListener('click', () => player.toggle());
  get('back').addEventListener('click', () => player.step(-1));
  get('on').addEventListener('click', () => player.step(1));
  get('full').addEventListener('click', fullScreen);
  get('speed').addEventListener('change', () => {
    video.playbackRate = Number(get('speed').value);
  });
  video.addEventListener('click', () => player.toggle());
  const played = () => {
    document.body.classList.toggle('playing', !video.paused);
    get('play').setAttribute('aria-label', video.paused ? 'Play' : 'Pause');
  };
  video.addEventListener('play', played);
  video.addEventListener('pause', played);
  timeline.onMove(() => {
    const {frame} = timeline;
    const view = current();
    scrub.value = timeline.place;
    get('gone').hidden = frame >= 0;
    get('readout').replaceChildren();
    element('b', {text: frame < 0 ? 'lost frame' : `frame ${grouped(frame)}`}, get('readout'));
    element('span', {text: view ? `${clock(timeline.time - view.data.from)} ${view.data.name ? 'into ' + view.data.name : ''}` : clock(timeline.time)}, get('readout'));
    drawOver(get('over'), frame);
  });
}

// drawOver shows on the video what is known about places in the frame.
function drawOver(svg, frame) {
  svg.replaceChildren();
  svg.setAttribute('viewBox', `0 0 ${data.width} ${data.height}`);
  for (const w of data.windows) {
    for (const e of w.shown.filter((one) => one.frame === frame)) {
      const [x, y, width, height] = e.region.length ? e.region : w.region.length ? w.region : [0, 0, data.width, data.height];
      if (e.region.length) {
        element('rect', {class: 'shown-region', x, y, width, height}, svg);
      }
      for (const row of e.rows) {
        element('line', {class: 'shown-row', x1: x, x2: x + width, y1: row, y2: row}, svg);
      }
    }
  }
}

function fullScreen() {
  if (document.fullscreenElement) {
    document.exitFullscreen();
  } else {
    document.getElementById('stage').requestFullscreen?.().catch(() => {});
  }
}

const large = document.getElementById('large');
for (const button of document.querySelectorAll('.enlarge')) {
  button.addEventListener('click', () => {
    const from = button.querySelector('img');
    const picture = document.getElementById('large-picture');
    picture.src = from.src;
    picture.alt = from.alt;
    large.showModal();
  });
}
large.addEventListener('click', () => large.close());

// Keys go to the page wherever the focus is, except where a control has its own use for them.
document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || large.open || event.target.closest('select, textarea, input:not([type=range])')) {
    return;
  }
  const view = current();
  const act = {
    ArrowLeft: () => player.step(event.shiftKey ? -10 : -1),
    ArrowRight: () => player.step(event.shiftKey ? 10 : 1),
    Home: () => view && player.seekFrame(view.data.start),
    End: () => view && player.seekFrame(view.data.end),
    ' ': () => player.toggle(),
    f: fullScreen,
    '+': () => view && zoom(view, 'in'),
    '=': () => view && zoom(view, 'in'),
    '-': () => view && zoom(view, 'out'),
    0: () => view && zoom(view, 'all'),
  }[event.key];
  const pressesButton = event.key === ' ' && event.target.closest('button, summary, a');
  if (act && !pressesButton) {
    event.preventDefault();
    act();
  }
}, {capture: true});

const first = data.windows.length ? data.windows[0].start : 0;
player.seek(timeline.placeFor(first));
