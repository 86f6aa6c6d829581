package instrument

import (
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/eideticker/eideticker/netsim/ecma"
	"github.com/eideticker/eideticker/netsim/internal/document"
)

// htmlEdit replaces bytes of a document. Only the policies of meta elements are replaced. All other
// edits insert.
type htmlEdit struct {
	at, end int
	text    string
}

// pageEditor reads a document once and writes it with edits.
type pageEditor struct {
	in             *Instrument
	from           io.Reader       // of a document that arrives; nil: src is all of it
	to             io.Writer       // gets each finished part of an arriving document
	part           []byte          // of an arriving document
	buffer         strings.Builder // of src
	src            string
	given          int // bytes that the tokenizer has
	at, end        int // of the tokenizer's last or next token
	done           int // bytes that out has
	out            strings.Builder
	spans          []span
	err            error // the document cannot be rewritten
	url            *url.URL
	base           *url.URL
	edits          []htmlEdit // behind done
	changes        *document.Changes
	script         string      // the type of the script whose text is the next token
	begun          bool        // the place of the prelude is known
	waits          bool        // the rest decides on the policies of metas
	metas          []attribute // values with such policies
	countedMetas   int
	policies       string // of the header, and of the metas so far
	charset        string
	lines          *walker
	origin         string          // of the collector
	depth          int             // of documents in attributes srcdoc
	made           bool            // a script of the page has made the text
	fragment       bool            // it is a part of a document
	open           []string        // template, svg, math and foreignobject elements
	opened         map[string]int  // elements of open by name
	seen           map[string]bool // names of a tag's attributes
	attributeBytes int             // of code, which has no insertions
	foreignScript  bool            // a script in SVG was seen
}

// editor returns the editor of a document with the policies of its header. Its collector has an
// origin. The caller sets the text, or its reader.
func (in *Instrument) editor(address *url.URL, origin, policies string) *pageEditor {
	return &pageEditor{in: in, url: address, base: address, policies: policies, origin: origin,
		changes: &document.Changes{}}
}

// document rewrites a document.
func (e *pageEditor) document() error {
	e.in.noteHashes(e.policies)
	e.checkNonce(0)
	e.read()
	for e.grow() { // behind the last token
		continue
	}
	if e.err != nil {
		return e.err
	}
	if e.fragment {
		e.apply(len(e.src))
		return nil
	}
	if !e.begun {
		e.begin(len(e.src))
	}
	for _, m := range e.metas {
		e.value(m, e.allow(m.decoded))
	}
	if e.attributeBytes > 0 {
		e.in.servesPlain(e.url.String(), "script", hashOf(e.src), e.attributeBytes,
			"code in an attribute is not instrumented")
	}
	if e.foreignScript {
		e.in.servesPlain(e.url.String(), "script", hashOf(e.src), 0, "a script in SVG is not instrumented")
	}
	e.apply(len(e.src))
	return nil
}

// allow adapts a policy of the document.
func (e *pageEditor) allow(policy string) string {
	return e.changes.Allow(e.in.allow(document.AllowScript(policy, e.in.prelude(e.origin).hash), e.origin))
}

// needsAll reports whether the adapted policies depend on all scripts of the document.
func (in *Instrument) needsAll(policies string) bool {
	return in.times && hashSource.MatchString(policies)
}

// begin inserts the prelude into a document that is known up to an offset.
func (e *pageEditor) begin(known int) {
	e.begun = true
	e.insert(document.HeadBegins([]byte(e.src[:known])), "<script>"+e.in.prelude(e.origin).text+"</script>")
}

// Read is for the tokenizer.
func (e *pageEditor) Read(b []byte) (int, error) {
	if e.given == len(e.src) && !e.grow() {
		return 0, io.EOF
	}
	n := copy(b, e.src[e.given:])
	e.given += n
	return n, nil
}

// grow waits for more of an arriving document.
func (e *pageEditor) grow() bool {
	if e.from == nil || e.err != nil {
		return false
	}
	if to := e.final(); to > e.done {
		e.apply(to)
	}
	if e.part == nil {
		e.part = make([]byte, 4<<10)
	}
	n, err := 0, error(nil)
	for n == 0 && err == nil {
		n, err = e.from.Read(e.part)
	}
	known := len(e.src)
	e.buffer.Write(e.part[:n])
	e.src = e.buffer.String()
	if e.lines != nil {
		e.lines.text = e.src
	}
	switch {
	case err == io.EOF:
		e.from = nil
	case err != nil:
		e.err = err
	case len(e.src) > ecma.MaxSource:
		e.err = errLong
	}
	e.checkNonce(known)
	return e.err == nil && n > 0
}

// checkNonce searches for the nonce. It was not found before an offset.
func (e *pageEditor) checkNonce(known int) {
	if strings.Contains(e.src[max(0, known-len(e.in.o.Nonce)+1):], e.in.o.Nonce) {
		e.err = fmt.Errorf("nonce %q: the document contains it", e.in.o.Nonce)
	}
}

// final returns the end of the text that no later edit changes. Edits are in start tags and
// scripts.
func (e *pageEditor) final() int {
	at := max(e.at, e.done)
	switch {
	case !e.begun || e.waits:
		return e.done
	case e.script != "":
		return at
	}
	for ; at < len(e.src); at++ {
		next := strings.IndexByte(e.src[at:], '<')
		if next < 0 {
			break
		}
		if at += next; at+1 == len(e.src) {
			return at
		}
		if letter := e.src[at+1] | 0x20; letter >= 'a' && letter <= 'z' {
			return at
		}
	}
	return len(e.src)
}

// apply writes the document up to an offset. Edits at one place keep their order.
func (e *pageEditor) apply(to int) {
	slices.SortStableFunc(e.edits, func(a, b htmlEdit) int { return a.at - b.at })
	before, edits := e.out.Len(), 0
	for _, one := range e.edits {
		if one.at > to {
			break
		}
		e.out.WriteString(e.src[e.done:one.at])
		e.spans = append(e.spans, span{e.out.Len(), len(one.text), len(one.text) - (one.end - one.at)})
		e.out.WriteString(one.text)
		e.done = one.end
		edits++
	}
	e.edits = slices.Delete(e.edits, 0, edits)
	e.out.WriteString(e.src[e.done:to])
	e.done = to
	if e.to != nil && e.out.Len() > before {
		_, _ = io.WriteString(e.to, e.out.String()[before:])
	}
}

func (e *pageEditor) insert(at int, text string) {
	e.edits = append(e.edits, htmlEdit{at, at, text})
}

// read visits all tags and scripts. It stops where the tokens are not the document's bytes.
func (e *pageEditor) read() {
	e.opened, e.seen = map[string]int{}, map[string]bool{}
	e.given, e.begun = 0, e.fragment
	z := html.NewTokenizer(e)
	e.lines = newWalker(e.src, position{1, 1})
	for {
		e.at = e.end
		kind := z.Next()
		raw := z.Raw()
		e.end += len(raw)
		if kind == html.ErrorToken || e.err != nil || e.end > len(e.src) || e.src[e.at:e.end] != string(raw) {
			return
		}
		if e.script != "" && kind == html.TextToken && strings.TrimSpace(string(raw)) != "" {
			e.inline(e.script, e.at, string(raw))
		}
		e.script = ""
		tag, _ := z.TagName()
		name := string(tag)
		switch kind {
		case html.TextToken:
			if !e.begun && strings.Trim(string(raw), "\ufeff \t\n\f\r") != "" {
				e.begin(e.end)
			}
		case html.EndTagToken:
			if e.close(name); !e.begun {
				e.begin(e.end)
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			if !e.begun && name != "html" {
				e.begin(e.end)
			}
			foreign := e.foreign()
			if foreign {
				z.NextIsNotRawText()
			}
			if raw[len(raw)-1] != '>' {
				return // a part of a tag
			}
			e.start(name, kind == html.SelfClosingTagToken, foreign)
		}
	}
}

// start visits a start tag.
func (e *pageEditor) start(name string, selfClosing, foreign bool) {
	attributes := attributesOf(e.src, e.at+1+len(name), e.end)
	e.tag(name, attributes)
	empty := selfClosing && (foreign || name == "svg" || name == "math")
	if isContainer(name) && !empty {
		e.open = append(e.open, name)
		e.opened[name]++
	}
	if name != "script" || !e.in.times {
		return
	}
	src, external := find(attributes, "src")
	switch t := scriptType(attributes); {
	case external && (t == classic || t == module): // a page may insert a copy of a template's script
		e.integrity(attributes, src.decoded, t == module)
	case external, t == data:
	case foreign:
		e.foreignScript = true
	case len(e.open) > 0: // a template's scripts do not run
	default:
		e.script = t
	}
}

func isContainer(name string) bool {
	return name == "template" || name == "svg" || name == "math" || name == "foreignobject"
}

// foreign reports whether the parser is in SVG or MathML.
func (e *pageEditor) foreign() bool {
	if len(e.open) == 0 {
		return false
	}
	last := e.open[len(e.open)-1]
	return last == "svg" || last == "math"
}

func (e *pageEditor) close(name string) {
	for e.opened[name] > 0 {
		last := e.open[len(e.open)-1]
		e.open = e.open[:len(e.open)-1]
		if e.opened[last]--; last == name {
			return
		}
	}
}

// tag handles the attributes of an element.
func (e *pageEditor) tag(name string, all []attribute) {
	get := func(key string) string {
		a, _ := find(all, key)
		return a.decoded
	}
	clear(e.seen)
	for _, a := range all {
		if !e.seen[a.name] { // the first one counts
			e.seen[a.name] = true
			e.attribute(name, a)
		}
	}
	switch name {
	case "base":
		href, err := e.url.Parse(strings.TrimSpace(get("href")))
		if err == nil && e.base == e.url && get("href") != "" { // the first counts
			e.base = href
		}
	case "meta":
		content, ok := find(all, "content")
		equiv := strings.ToLower(strings.TrimSpace(get("http-equiv")))
		if equiv == "content-security-policy" && ok && len(e.open) == 0 {
			e.meta(content)
		}
	case "link":
		rel := strings.Fields(strings.ToLower(get("rel")))
		if slices.Contains(rel, "modulepreload") || slices.Contains(rel, "preload") && strings.EqualFold(get("as"),
			"script") {
			e.integrity(all, get("href"), slices.Contains(rel, "modulepreload"))
		}
	}
}

// meta adapts the policy of a meta element.
func (e *pageEditor) meta(content attribute) {
	if e.fragment {
		return
	}
	if e.countedMetas++; e.countedMetas > maxMetas {
		e.err = fmt.Errorf("it has more than %d content security policies", maxMetas)
		return
	}
	e.policies += "," + content.decoded
	e.in.noteHashes(content.decoded)
	if !e.in.needsAll(content.decoded) {
		e.value(content, e.allow(content.decoded))
		return
	}
	if e.metas = append(e.metas, content); !e.waits {
		e.apply(e.at)
		e.waits = true
	}
}

// integrity renames the attribute integrity, because the browser would compare it with the changed
// script. The rig compares it with the original. Browsers refuse foreign scripts without CORS.
func (e *pageEditor) integrity(all []attribute, src string, isModule bool) {
	address, err := e.base.Parse(strings.TrimSpace(src))
	if err != nil || !e.in.times {
		return
	}
	integrity, ok := find(all, "integrity")
	_, cors := find(all, "crossorigin")
	if ok && !cors && !isModule && (address.Host != e.url.Host || address.Scheme != e.url.Scheme) {
		return
	}
	stated := element{module: isModule, allowed: ok && e.allows(integrity.decoded)}
	if ok && !stated.allowed {
		e.insert(integrity.nameAt, "data-")
		e.insert(integrity.nameAt+len("integrity"), e.in.o.Nonce[1:])
	}
	if ok {
		stated.integrity = integrity.decoded
	}
	if label, _ := find(all, "charset"); !isModule {
		stated.charset, _ = charsetOf(nil, "", label.decoded, e.charset)
	}
	key := elementKey(address, address.RawQuery)
	e.in.mu.Lock()
	defer e.in.mu.Unlock()
	// The last element counts, since a page may load the same script without a check.
	_, known := e.in.elements[key]
	if known || len(e.in.elements) < maxAddresses && stated != (element{}) {
		e.in.elements[key] = stated
	}
}

// allows reports whether a policy has a hash of an attribute integrity. Browsers need the attribute
// then (CSP Level 3, 6.7.2.4).
func (e *pageEditor) allows(integrity string) bool {
	return slices.ContainsFunc(strings.Fields(integrity), func(one string) bool {
		one, _, _ = strings.Cut(one, "?")
		return strings.Contains(e.policies, "'"+one+"'")
	})
}

// inline rewrites an inline script.
func (e *pageEditor) inline(kind string, at int, text string) {
	switch kind {
	case importMap:
		// Browsers would compare the hashes of modules with the changed ones.
		if i := strings.Index(text, `"integrity"`); i >= 0 {
			e.insert(at+i+1, "data-")
			e.replaced(text, text[:i+1]+"data-"+text[i+1:], false)
		}
	case classic, module:
		goal := scriptGoal
		if kind == module {
			goal = moduleGoal
		}
		if e.fixed(text) || strings.HasPrefix(text, document.Own) {
			return
		}
		begin := e.lines.to(at)
		e.in.place(text, e.url.String(), begin)
		c := e.in.rewrite(text, goal, e.guard())
		e.in.serves(e.url.String(), begin, text, c)
		e.insertAll(at, c.result)
		e.replaced(text, c.result.Text, false)
	}
}

// insertAll adds the insertions of a program that begins at an offset.
func (e *pageEditor) insertAll(at int, r Result) {
	before := 0
	for _, n := range r.Insertions {
		e.insert(at+int(n.At)-before, r.Text[n.At:n.At+n.Length])
		before += int(n.Length)
	}
}

// guard returns the head of an inline script. Pages may move elements to another
// realm.
func (e *pageEditor) guard() string {
	if e.made {
		return e.in.guard()
	}
	return ""
}

// fixed reports whether a script of the page made a text that a policy allows by its hash.
func (e *pageEditor) fixed(text string) bool {
	if !e.made || !e.in.hasHash(text) {
		return false
	}
	e.in.servesPlain(e.url.String(), "script", hashOf(text), len(text), errHash.Error())
	return true
}

// attribute rewrites an attribute with code: an event handler, an address, or a document.
func (e *pageEditor) attribute(element string, a attribute) {
	const scheme = "javascript:"
	raw, text := e.src[a.from:a.to], a.decoded
	switch begin := strings.TrimLeft(text, " \t\n\f\r"); {
	case strings.TrimSpace(text) == "":
	case element == "iframe" && a.name == "srcdoc":
		inner := &pageEditor{in: e.in, src: text, url: e.url, base: e.base, policies: e.policies, origin: e.origin,
			depth: e.depth + 1, made: e.made, changes: e.changes}
		if lines(text) != lines(raw) || e.depth >= maxDepth {
			break
		}
		if err := inner.document(); err != nil {
			e.in.servesPlain(e.url.String(), "document", hashOf(text), len(text), err.Error())
			return
		}
		e.value(a, inner.out.String())
		return
	case !e.in.times:
		return
	case slices.Contains(handlers, a.name):
		if lines(text) != lines(raw) {
			break
		}
		if e.fixed(text) {
			return
		}
		c := e.in.rewrite(text, goal(a.name), "")
		e.in.serves(e.url.String(), e.lines.to(a.from), text, c)
		if e.replaced(text, c.result.Text, true); raw == text && a.quote != 0 {
			e.insertAll(a.from, c.result)
		} else if c.reason == "" {
			e.value(a, c.result.Text)
		}
		return
	case len(begin) > len(scheme) && strings.EqualFold(begin[:len(scheme)], scheme):
		// Browsers remove tabs and line breaks of addresses, and decode escapes.
		if raw != text || a.quote == 0 || strings.ContainsAny(text, "%\t\n\r") || strings.Contains(e.policies, hashes) {
			break
		}
		code := begin[len(scheme):]
		c := e.in.rewrite(code, evalGoal, "")
		e.in.serves(e.url.String(), e.lines.to(a.to-len(code)), code, c)
		e.insertAll(a.to-len(code), c.result)
		return
	default:
		return
	}
	e.attributeBytes += len(text)
}

const (
	hashes   = "'unsafe-hashes'"
	maxDepth = 4   // of documents in attributes
	maxMetas = 100 // policies
)

// lines counts the line breaks of a text.
func lines(text string) int { return strings.Count(text, "\n") + strings.Count(text, "\r") }

// value replaces the value of an attribute.
func (e *pageEditor) value(a attribute, text string) {
	if text == a.decoded {
		return
	}
	text = html.EscapeString(text)
	if a.quote == 0 {
		text = `"` + text + `"`
	}
	e.edits = append(e.edits, htmlEdit{a.from, a.to, text})
}

// replaced notes the hashes of a script that policies may contain. Browsers hash the text with line
// breaks of their own.
func (e *pageEditor) replaced(before, after string, attribute bool) {
	if before == after {
		return
	}
	breaks := strings.NewReplacer("\r\n", "\n", "\r", "\n")
	before, after = breaks.Replace(before), breaks.Replace(after)
	all := make([]string, len(algorithms))
	for i, name := range algorithms {
		all[i] = scriptHash(name, before)
	}
	e.changes.Add(attribute, scriptHash("sha256", after), all...)
}
