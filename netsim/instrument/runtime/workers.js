// Workers may begin with a text of the page: a Blob of strings, or a data: address.
const blobTexts = new WeakMap(), urlTexts = new Map(), forget = method(Map, 'delete'), MOST_URLS = 100;
const isArray = Array.isArray, wholeURL = getter(realm.URL, 'href'), unescapeCode = decodeURIComponent;
const decodeBase64 = bound('atob'), escapeBytes = escape;
const mapSize = getter(Map, 'size');
const urlOf = realm.URL && realm.URL.createObjectURL, revoke = urlOf && realm.URL.revokeObjectURL;
const partText = value =>
  typeof value === 'string' ? value : typeof value === 'function' ? original(source(value)) : null;
if (NativeBlob) replaceClass(NativeBlob, (given, proceed) => {
  const made = proceed(), parts = given[0];
  let text = '';
  try {
    for (let i = 0; isArray(parts) && i < parts.length && text !== null; i++) {
      const more = partText(parts[i]);
      text = more === null || text.length + more.length > MOST_CODE ? null : text + more;
    }
  } catch (e) {
    text = null;
  }
  if (text) weakSet(blobTexts, made, text);
  return made;
});
if (urlOf) {
  replace(realm.URL, 'createObjectURL', native => ({
    f(object) {
      const url = apply(native, this, arguments), text = weakGet(blobTexts, object);
      if (text && mapSize(urlTexts) < MOST_URLS) keepAnswer(urlTexts, url, text);
      return url;
    },
  }).f);
  replace(realm.URL, 'revokeObjectURL', native => ({
    f(url) {
      forget(urlTexts, url);
      return apply(native, this, arguments);
    },
  }).f);
}

// dataText returns the text of a data: address.
const dataText = url => {
  const comma = indexOf(url, ','), head = lowerCase(slice(url, 0, comma));
  if (comma < 0) return '';
  const hash = indexOf(url, '#'), text = unescapeCode(slice(url, comma + 1, hash < 0 ? url.length : hash));
  return slice(head, -7) !== ';base64' ? text : unescapeCode(escapeBytes(decodeBase64(text)));
};

const workerURL = given => {
  const value = given[0], isModule = !!given[1] && typeof given[1] === 'object' && given[1].type === 'module';
  const url = textOfCode(value) || wholeURL(value), isData = slice(url, 0, 5) === 'data:';
  const text = isData ? dataText(url) : answerOf(urlTexts, url) || '';
  if (text === '') return '';
  const changed = rewritten(text, isModule ? 'moduleworker' : 'worker');
  if (changed === text) return '';
  const made = isData ? 'data:text/javascript,' + component(changed) :
    urlOf(new NativeBlob([changed], {__proto__: null, type: 'text/javascript'}));
  const of = typeof value === 'string' ? null : kindOf(value);
  given[0] = of ? of.create(trusted, made) : made;
  return isData ? '' : made;
};
// Shared workers are found by their address, so it must stay.
if (realm.Worker) replaceClass(realm.Worker, (given, proceed) => {
  let made = '';
  try {
    made = workerURL(given);
  } catch (e) {
    // The worker runs as the page has written it.
  }
  const worker = proceed();
  if (made) timer(() => { revoke(made); }, EVERY);
  return worker;
});
