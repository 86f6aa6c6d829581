// The player keeps the video and the timeline together: whichever moves takes the other along.

export class Player {
  /**
   * @param {import('./timeline.js').Film | null} film
   * @param {import('./timeline.js').Timeline} timeline
   * @param {any} video
   */
  constructor(film, timeline, video = document.getElementById('video')) {
    this.timeline = timeline;
    this.watching = 0;
    this.video = film ? video : null;
    /** @type {number | null} place at which to stop */
    this.until = null;
    if (film && this.video) {
      this.video.src = film.source.startsWith('data:') ? objectURL(film.source) : film.source;
      this.follow();
    }
  }

  follow() {
    const stood = () => {
      if (this.video.paused) { // else watch sees it
        this.moved(this.video.currentTime);
      }
    };
    for (const event of ['seeked', 'timeupdate', 'ended']) {
      this.video.addEventListener(event, stood);
    }
    this.video.addEventListener('pause', () => {
      stood();
      if (!this.video.seeking) {
        this.seek(this.timeline.place); // what is presented may be a frame away from the time
      }
    });
    this.video.addEventListener('play', () => this.watch());
    this.video.addEventListener('error', () => document.body.classList.add('no-video'));
  }

  // watch follows a playing video frame by frame: by those that it presents, where the browser tells.
  watch() {
    const {video} = this;
    /** @param {number} time */
    const next = (time) => {
      if (!video.paused && !video.ended) {
        this.moved(time);
        this.watch();
      }
    };
    if (video.requestVideoFrameCallback) {
      video.cancelVideoFrameCallback(this.watching);
      this.watching = video.requestVideoFrameCallback((/** @type {number} */ _,
        /** @type {{mediaTime: number}} */ shown) => next(shown.mediaTime));
    } else {
      cancelAnimationFrame(this.watching);
      this.watching = requestAnimationFrame(() => next(video.currentTime));
    }
  }

  /** @param {number} time */
  moved(time) {
    if (this.video.seeking) {
      return; // where it goes to is known already
    }
    // A video's frame is there from its time on; the little more is for times that were rounded down.
    const place = Math.floor(time * this.timeline.rate + 0.01);
    if (this.until !== null && place >= this.until && !this.video.paused) {
      const stop = this.until;
      this.pause();
      this.seek(stop);
      return;
    }
    this.timeline.stand(place);
  }

  /**
   * seek goes to a place; the video shows the middle of its frame, so that rounding never shows a neighbour.
   * @param {number} place
   */
  seek(place) {
    this.until = null;
    this.timeline.stand(place);
    if (this.video && this.timeline.rate) {
      this.video.currentTime = (this.timeline.place + 0.5) / this.timeline.rate;
    }
  }

  /** @param {number} frame */
  seekFrame(frame) {
    this.pause();
    this.seek(this.timeline.placeFor(frame));
  }

  /** @param {number} n */
  step(n) {
    this.pause();
    this.seek(this.timeline.stepped(n));
  }

  pause() {
    if (this.video) {
      this.video.pause();
    }
  }

  toggle() {
    if (!this.video) {
      return;
    }
    if (this.video.paused) {
      this.until = null;
      this.play();
    } else {
      this.video.pause();
    }
  }

  /**
   * playRange plays from a frame to another and stays there.
   * @param {number} from
   * @param {number} to
   */
  playRange(from, to) {
    this.seek(this.timeline.placeFor(from));
    this.until = this.timeline.placeFor(to);
    this.play();
  }

  play() {
    this.video.play().catch(() => {}); // refused or interrupted: it stands still, which is seen
  }
}

/**
 * objectURL makes a file in memory of a data URI: not every browser plays and seeks in those.
 * @param {string} uri
 */
export function objectURL(uri) {
  const comma = uri.indexOf(',');
  const text = atob(uri.slice(comma + 1));
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) {
    bytes[i] = text.charCodeAt(i);
  }
  return URL.createObjectURL(new Blob([bytes], {type: uri.slice(5, uri.indexOf(';'))}));
}
