// Pictures of a run folder, small and large.

import {h} from './dom.js';
import {grouped} from './format.js';

/**
 * @typedef {object} Files of a run
 * @property {(name: string) => string} url address of a file; empty where it is missing
 * @property {((name: string) => Promise<ArrayBuffer>) | null} read null where a page may not read files
 */

/** @param {HTMLImageElement} from */
function enlarge(from) {
  const dialog = h('dialog', {'aria-label': 'Picture', onclick: () => dialog.close()},
    h('button.close', {'aria-label': 'Close', autofocus: true}, '×'), h('img', {src: from.src, alt: from.alt}));
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

/**
 * figure shows a picture with its text, or nothing where its file is missing.
 * @param {Files} files
 * @param {import('rig').Picture & {alt?: string}} p
 * @param {(frame: number) => void} seek
 */
export function figure(files, p, seek) {
  if (!files.url(p.file)) {
    return null;
  }
  const img = h('img', {src: files.url(p.file), alt: p.alt ?? p.text, loading: 'lazy'});
  const data = p.data ? files.url(p.data) : '';
  return h(`figure.picture.${p.kind}`, null,
    h('button.enlarge', {title: 'Show it large', onclick: () => enlarge(img)}, img),
    h('figcaption', null, p.text, p.frame >= 0 ? [' ', frameButton(p.frame, seek)] : null,
      data && p.data ? [' ', h('a', {href: data, download: true}, p.data.split('/').pop())] : null));
}

/**
 * frameButton goes to a frame.
 * @param {number} frame
 * @param {(frame: number) => void} seek
 */
export const frameButton = (frame, seek) => h('button.to',
  {title: `Show frame ${grouped(frame)}`, 'data-frame': frame, onclick: () => seek(frame)}, grouped(frame));
