// Code that the page makes passes the rig, which returns it with insertions. The page waits for the answer.
const MOST_CODE = 262144, MOST_ASKED = 1000, MOST_KEPT = 4194304, MOST_SLOW = 3, WAITING = 4294967295;
const answers = new Map(), answerOf = method(Map, 'get'), keepAnswer = method(Map, 'set');
const Question = realm.XMLHttpRequest, openQuestion = method(Question, 'open'), sendQuestion = method(Question, 'send');
const answerStatus = getter(Question, 'status'), answerText = getter(Question, 'responseText');
const component = encodeURIComponent, has = Reflect.has;
const causes = {__proto__: null};
let slowAnswers = 0, asked = 0, keptAnswers = 0;

// runsPlain notes each cause once.
const runsPlain = (text, what) => {
  if (!causes[what]) detail({__proto__: null, kind: 'plain', what}, now());
  causes[what] = true;
  return text;
};

const rewritten = (text, goal) => {
  const key = goal + ' ' + text, known = answerOf(answers, key);
  if (text === '' || known !== undefined) return known || text;
  if (!Question || slowAnswers >= MOST_SLOW || asked >= MOST_ASKED || text.length > MOST_CODE)
    return runsPlain(text, !Question ? 'no synchronous requests' : slowAnswers < MOST_SLOW ? 'limits' : 'slow answers');
  asked++;
  const enter = realm['E' + nonce], d = enter ? enter(WAITING) : 0, begin = now();
  let answer = text, code = 0;
  try {
    const question = new Question();
    const url = component(address(realm.location.href));
    openQuestion(question, 'POST', base + 'rewrite?goal=' + goal + '&url=' + url, false);
    sendQuestion(question, text);
    code = answerStatus(question);
    if (code === 200) answer = answerText(question);
  } catch (e) {
    // The page is ending, or its policy forbids such requests.
  }
  if (code === 0 || now() - begin > patience) slowAnswers++;
  if (enter) realm['R' + nonce](d);
  const whole = goal === 'html' || goal === 'srcdoc' || goal === 'worker' || goal === 'moduleworker';
  // A text that is not valid Unicode has changed on its way.
  if (whole ? indexOf(answer, '\ufffd') >= 0 && indexOf(text, '\ufffd') < 0 : original(answer) !== text) answer = text;
  if (code !== 200 && code !== 204) runsPlain(text, 'no answer');
  keptAnswers += text.length + answer.length;
  if (keptAnswers <= MOST_KEPT) keepAnswer(answers, key, answer);
  return answer;
};

// Pages that demand Trusted Types get them from a policy of this name, which the rig allows.
const types = realm.trustedTypes, defaultPolicy = getter(realm.TrustedTypePolicyFactory, 'defaultPolicy');
let trusted = null;
try {
  const same = text => text;
  trusted = types && types.createPolicy(letters, {createHTML: same, createScript: same, createScriptURL: same});
} catch (e) {
  // The page's policy has no such name.
}
const kinds = [];
for (const name of trusted ? ['HTML', 'Script', 'ScriptURL'] : [])
  kinds[kinds.length] = {
    __proto__: null, is: method(realm.TrustedTypePolicyFactory, 'is' + name),
    text: method(realm['Trusted' + name], 'toString'), create: method(realm.TrustedTypePolicy, 'create' + name),
  };
const kindOf = value => {
  for (let i = 0; i < kinds.length; i++) if (kinds[i].is(types, value)) return kinds[i];
  return null;
};

// textOfCode returns the text of a string or a trusted value; otherwise ''.
const textOfCode = value => {
  if (typeof value === 'string') return value;
  const of = value !== null && typeof value === 'object' ? kindOf(value) : null;
  return of ? of.text(value) : '';
};

// change returns code of the page with insertions. A default policy must see the page's own strings.
const change = (value, goal) => {
  try {
    const text = textOfCode(value);
    if (text === '' || typeof value === 'string' && types && defaultPolicy(types)) return value;
    const changed = rewritten(text, goal);
    return changed === text ? value : typeof value === 'string' ? changed : kindOf(value).create(trusted, changed);
  } catch (e) {
    return value;
  }
};

const Eval = realm.eval;
hide('v', (callee, value) => callee === Eval ? change(value, 'eval') : value);

// changes replaces a native function that gets code in one argument. goalOf may return ''.
const changes = (index, goalOf) => native => ({
  f() {
    const given = arguments;
    if (given.length > index) {
      const goal = goalOf(this, given[index], given);
      if (goal !== '') given[index] = change(given[index], goal);
    }
    return apply(native, this, given);
  },
}).f;

const codeGoal = (self, value) => typeof value === 'function' ? '' : 'eval';
replace(realm, 'setTimeout', changes(0, codeGoal));
replace(realm, 'setInterval', changes(0, codeGoal));
const functions = [['function', Function], ['generator', getPrototypeOf(function* () {}).constructor],
  ['async', getPrototypeOf(async () => {}).constructor]];
for (const [goal, native] of functions)
  replaceClass(native, (given, proceed) => {
    const last = given.length - 1;
    if (last >= 0) given[last] = change(given[last], goal);
    return proceed();
  });
for (let i = 1; i < functions.length; i++) setPrototypeOf(functions[i][1], realm.Function);

// Elements.
const blanks = ' \n\t\r\f';
const hasCode = (html, runsScripts) => {
  html = lowerCase(html);
  const contains = text => indexOf(html, text) >= 0;
  if (runsScripts && contains('<script') || contains('srcdoc') || contains('javascript:')) return true;
  for (let at = indexOf(html, 'on', 1); at > 0; at = indexOf(html, 'on', at + 2)) {
    if (indexOf(blanks + '/"\'', html[at - 1]) < 0) continue;
    let end = at + 2;
    while (end < html.length && html[end] >= 'a' && html[end] <= 'z') end++;
    while (end < html.length && indexOf(blanks, html[end]) >= 0) end++;
    if (html[end] === '=') return true;
  }
  return false;
};
const htmlGoal = (self, value) => hasCode(textOfCode(value), false) ? 'html' : '';
const runningGoal = (self, value) => hasCode(textOfCode(value), true) ? 'html' : '';
const scripts = ['', 'text/javascript', 'application/javascript', 'text/ecmascript', 'application/ecmascript',
  'application/x-javascript'];
const scriptGoal = self => {
  const type = lowerCase(attribute(self, 'type') || '');
  if (type === 'module') return type;
  for (let i = 0; i < scripts.length; i++) if (scripts[i] === type) return 'script';
  return '';
};
const textGoal = self => isScript(self) ? scriptGoal(self) : '';
for (const key of ['text', 'textContent', 'innerText']) replace('HTMLScriptElement', key, changes(0, textGoal), 'set');
const innerGoal = (self, value) => isScript(self) ? scriptGoal(self) : htmlGoal(self, value);
replace('Element', 'innerHTML', changes(0, innerGoal), 'set');
replace('Element', 'outerHTML', changes(0, htmlGoal), 'set');
replace('ShadowRoot', 'innerHTML', changes(0, htmlGoal), 'set');
replace('Element', 'setHTMLUnsafe', changes(0, htmlGoal));
replace('ShadowRoot', 'setHTMLUnsafe', changes(0, htmlGoal));
replace('Element', 'insertAdjacentHTML', changes(1, htmlGoal));
replace('Range', 'createContextualFragment', changes(0, runningGoal));
replace('HTMLIFrameElement', 'srcdoc', changes(0, () => 'srcdoc'), 'set');
replace('Element', 'setAttribute', changes(1, (self, value, given) => {
  if (typeof given[0] !== 'string' || given[0].length < 5) return '';
  const name = lowerCase(given[0]);
  if (name === 'integrity' && isScript(self)) given[0] = renamed;
  return name === 'srcdoc' || slice(name, 0, 2) === 'on' && has(self, name) ? name : '';
}));
replace('Element', 'getAttribute', native => ({
  getAttribute(key) {
    const found = apply(native, this, arguments);
    return found === null && key === 'integrity' ? attribute(this, renamed) : original(found);
  },
}).getAttribute);

// A written text may be a part of an element. Texts after an open element are not changed.
let isOpen = false;
const containers = ['script', 'style', 'textarea', 'title', 'xmp', 'plaintext'];
const endsOpen = html => {
  html = lowerCase(html);
  const isBehind = (begin, end) => lastIndexOf(html, '<' + begin) > lastIndexOf(html, end);
  for (let i = 0; i < containers.length; i++) if (isBehind(containers[i], '<' + '/' + containers[i])) return true;
  return isBehind('', '>') || isBehind('!--', '-->');
};
const writes = native => ({
  f() {
    const given = arguments;
    let text = given.length === 1 ? textOfCode(given[0]) : '', strings = true;
    for (let i = 0; i < given.length && given.length > 1; i++) {
      if (typeof given[i] !== 'string') strings = false;
      text += strings ? given[i] : '';
    }
    const isWhole = !isOpen && this === page && !endsOpen(text);
    if (this === page) isOpen = !isWhole;
    if (!isWhole || !strings || !hasCode(text, true)) return apply(native, this, given);
    return apply(native, this, [change(given.length === 1 ? given[0] : text, 'html')]);
  },
}).f;
replace('Document', 'write', writes);
replace('Document', 'writeln', writes);
