// Errors reach these listeners before the page's own, which are not changed.
const isDigit = c => c >= '0' && c <= '9';
const isLetter = c => c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z';
const isSpace = c => c === ' ' || c === '\n' || c === '\t' || c === '\r';

const MASKED = '\u2026';

// mask replaces quoted parts, digits and the queries of addresses.
const mask = text => {
  text = slice(text, 0, 1000);
  let out = '', quote = '', word = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (quote) {
      if (c === quote && !(c === '\'' && i + 1 < text.length && isLetter(text[i + 1]))) {
        out += MASKED + c;
        quote = '';
      }
    } else if (c === '"' || c === '\u0060' || c === '\'' && !(i > 0 && isLetter(text[i - 1])) || c === '\u201c' ||
      c === '\u2018') {
      out += c;
      quote = c === '\u201c' ? '\u201d' : c === '\u2018' ? '\u2019' : c;
    } else if (isDigit(c)) {
      if (i === 0 || !isDigit(text[i - 1])) out += '#';
    } else if ((c === '?' || c === '#') && indexOf(slice(text, word, i), '://') > 0) {
      while (i + 1 < text.length && !isSpace(text[i + 1])) i++;
    } else {
      if (isSpace(c)) word = i + 1;
      out += c;
    }
  }
  return slice(out + (quote && MASKED), 0, 1000);
};

// place reads url:line:column, or url:line.
const place = (name, text) => {
  let end = text.length;
  const number = () => {
    let at = end;
    while (at > 0 && isDigit(text[at - 1])) at--;
    if (at === end || at < 2 || text[at - 1] !== ':') return 0;
    const value = +slice(text, at, end);
    end = at - 1;
    return value;
  };
  const last = number(), before = number();
  if (last === 0) return null;
  const found = {__proto__: null};
  if (name) found.function = slice(name, 0, 200);
  found.url = address(slice(text, 0, end));
  found.line = before || last;
  if (before) found.column = last;
  return found;
};

// frame reads a line of a stack, as Chromium or as Firefox and Safari write it.
const frame = line => {
  let begin = 0;
  while (begin < line.length && isSpace(line[begin])) begin++;
  line = slice(line, begin);
  if (slice(line, 0, 3) !== 'at ') {
    const at = indexOf(line, '@');
    return at < 0 ? null : place(slice(line, 0, at), slice(line, at + 1));
  }
  line = slice(line, slice(line, 3, 9) === 'async ' ? 9 : 3);
  const open = indexOf(line, ' (');
  if (open < 0 || line[line.length - 1] !== ')') return place('', line);
  let where = slice(line, open + 2, line.length - 1);
  if (slice(where, 0, 8) === 'eval at ') {
    let comma = where.length - 1;
    while (comma > 0 && where[comma] !== ' ') comma--;
    where = slice(where, comma + 1);
  }
  return place(slice(line, 0, open), where);
};

// stackOf returns the places of a stack. The message precedes them in Chromium.
const stackOf = (stack, message) => {
  const places = [];
  setPrototypeOf(places, null);
  if (typeof stack !== 'string') return places;
  stack = slice(stack, 0, 50000);
  const at = message ? indexOf(stack, message) : -1;
  let begin = at >= 0 && at < 200 ? at + message.length : 0;
  while (begin < stack.length && places.length < 50) {
    let end = begin;
    while (end < stack.length && stack[end] !== '\n') end++;
    const found = frame(slice(stack, begin, end));
    if (found) places[places.length] = found;
    begin = end + 1;
  }
  return places;
};

// property reads a property of a value that the page has thrown. It may be anything.
const property = (value, name) => {
  try {
    const found = value !== null && typeof value === 'object' ? value[name] : undefined;
    return typeof found === 'string' ? found : '';
  } catch (e) {
    return '';
  }
};

const record = (name, message, url, line, column, error) => {
  const text = property(error, 'message'), stack = stackOf(property(error, 'stack'), text);
  if (!line && stack.length > 0) {
    url = stack[0].url;
    line = stack[0].line;
    column = stack[0].column;
  }
  detail({
    __proto__: null, kind: name, message: mask(message), url: address(url), line: line || undefined,
    column: column || undefined, stack: stack.length > 0 ? stack : undefined,
  }, now());
};

const messageOf = getter(realm.ErrorEvent, 'message'), fileOf = getter(realm.ErrorEvent, 'filename');
const lineOf = getter(realm.ErrorEvent, 'lineno'), columnOf = getter(realm.ErrorEvent, 'colno');
const errorOf = getter(realm.ErrorEvent, 'error'), reasonOf = getter(realm.PromiseRejectionEvent, 'reason');
const targetOf = getter(Event, 'target'), tagOf = getter(realm.Element, 'localName');
const attributeOf = method(realm.Element, 'getAttribute'), baseOf = getter(realm.Node, 'baseURI');
const hrefOf = getter(realm.URL, 'href');

// resource records an element that did not load. Other elements have none of the attributes.
const resource = element => {
  const url = attributeOf(element, 'src') || attributeOf(element, 'href') || attributeOf(element, 'data');
  if (!url) return;
  let whole = url;
  try {
    whole = hrefOf(new NativeURL(url, baseOf(element)));
  } catch (e) {
    // It is not an address.
  }
  detail({__proto__: null, kind: 'resource', url: address(whole), tag: slice(tagOf(element), 0, 100)}, now());
};

listen('error', event => {
  try {
    if (!event.isTrusted) return;
    const target = targetOf(event);
    if (target !== realm) {
      resource(target);
      return;
    }
    const message = messageOf(event);
    record('error', slice(message, 0, 9) === 'Uncaught ' ? slice(message, 9) : message, fileOf(event), lineOf(event),
      columnOf(event), errorOf(event));
  } catch (e) {
    // An event of another kind.
  }
}, true);

listen('unhandledrejection', event => {
  try {
    if (!event.isTrusted) return;
    const reason = reasonOf(event), message = property(reason, 'message'), name = property(reason, 'name');
    record('rejection', typeof reason === 'string' ? reason : name && message ? name + ': ' + message :
      message || name || typeof reason, '', 0, 0, reason);
  } catch (e) {
    // An event of another kind.
  }
}, true);
