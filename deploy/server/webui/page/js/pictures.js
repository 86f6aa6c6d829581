// Pictures of a run folder, small and large.

import {h} from './dom.js';
import {fileURL} from './api.js';
import {grouped} from '../shared/format.js';

/** @param {HTMLImageElement} from */
export function enlarge(from) {
  const dialog = h('dialog', {'aria-label': 'Picture', onclick: () => dialog.close()}, h('button.close', {'aria-label': 'Close', autofocus: true}, '×'), h('img', {src: from.src, alt: from.alt}));
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

/**
 * figure shows a picture with its text, and what belongs to it.
 * @param {string} run
 * @param {import('../../types/rig.js').Picture} p
 * @param {(frame: number) => void} seek
 */
export function figure(run, p, seek) {
  const img = h('img', {src: fileURL(run, p.file), alt: p.text, loading: 'lazy'});
  return h(`figure.picture.${p.kind}`, null,
    h('button.enlarge', {title: 'Show it large', onclick: () => enlarge(img)}, img),
    h('figcaption', null, p.text, p.frame >= 0 ? [' ', frameButton(p.frame, seek)] : null,
      p.data ? [' ', h('a', {href: fileURL(run, p.data), download: true}, p.data.split('/').pop())] : null));
}

/**
 * frameButton goes to a frame.
 * @param {number} frame
 * @param {(frame: number) => void} seek
 */
export const frameButton = (frame, seek) => h('button.to', {title: `Show frame ${grouped(frame)}`, 'data-frame': frame, onclick: () => seek(frame)}, grouped(frame));
