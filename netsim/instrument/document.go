package instrument

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/eideticker/eideticker/netsim/internal/document"
)

// rewrittenPage is an HTML document with insertions.
type rewrittenPage struct {
	text  string
	spans []span
	allow func(policy string) string // adapts a content security policy
}

// htmlEdit replaces bytes of a document. Only the policies of meta elements are replaced. All other
// edits insert.
type htmlEdit struct {
	at, end int
	text    string
}

// pageEditor reads a document once and collects its edits.
type pageEditor struct {
	in             *Instrument
	src            string
	url            *url.URL
	base           *url.URL
	edits          []htmlEdit
	inline         []inlineScript
	metas          []attribute // values with policies
	policies       string      // of the header, and of the metas so far
	open           []string    // template, svg, math and foreignobject elements
	attributeBytes int         // of code, which has no insertions
	foreignScript  bool        // a script in SVG was seen
}

// inlineScript is an element that has other text now.
type inlineScript struct {
	before []string // hashes, as policies have them
	after  string
}

// document rewrites an HTML document with the policies of its header. Its collector has an origin.
func (in *Instrument) document(src string, address *url.URL, origin, policies string) (*rewrittenPage, error) {
	if strings.Contains(src, in.o.Nonce) {
		return nil, fmt.Errorf("nonce %q: the document contains it", in.o.Nonce)
	}
	if document.IsUTF16([]byte(src[:min(len(src), 256)])) {
		return nil, errors.New("the document is not compatible with ASCII")
	}
	e := &pageEditor{in: in, src: src, url: address, base: address, policies: policies}
	prelude := in.prelude(origin)
	at := document.HeadBegins([]byte(src))
	e.insert(at, "<script>"+prelude.text+"</script>")
	if err := e.read(); err != nil {
		return nil, err
	}
	allow := func(policy string) string {
		policy = document.AllowConnect(document.AllowScript(policy, prelude.hash), origin)
		for _, s := range e.inline {
			policy = document.AllowAlso(policy, s.before, s.after)
		}
		return policy
	}
	for _, m := range e.metas {
		if changed := allow(m.decoded); changed != m.decoded {
			text := html.EscapeString(changed)
			if m.quote == 0 {
				text = `"` + text + `"`
			}
			e.edits = append(e.edits, htmlEdit{m.from, m.to, text})
		}
	}
	if e.attributeBytes > 0 {
		in.servesPlain(address.String(), "script", hashOf(src), e.attributeBytes,
			"code in attributes is not instrumented")
	}
	if e.foreignScript {
		in.servesPlain(address.String(), "script", hashOf(src), 0, "a script in SVG is not instrumented")
	}
	text, spans := applied(src, e.edits)
	return &rewrittenPage{text, spans, allow}, nil
}

// applied returns a document with edits. Those at one place keep their order.
func applied(src string, edits []htmlEdit) (string, []span) {
	slices.SortStableFunc(edits, func(a, b htmlEdit) int { return a.at - b.at })
	var out strings.Builder
	spans, done := make([]span, 0, len(edits)), 0
	for _, e := range edits {
		out.WriteString(src[done:e.at])
		spans = append(spans, span{out.Len(), len(e.text), len(e.text) - (e.end - e.at)})
		out.WriteString(e.text)
		done = e.end
	}
	out.WriteString(src[done:])
	return out.String(), spans
}

func (e *pageEditor) insert(at int, text string) {
	e.edits = append(e.edits, htmlEdit{at, at, text})
}

// read visits all tags and scripts. It stops where the tokens are not the document's bytes.
func (e *pageEditor) read() error {
	z := html.NewTokenizer(strings.NewReader(e.src))
	lines := newWalker(e.src, position{1, 1})
	kindOf := "" // of a script whose text is the next token
	for at := 0; ; {
		kind := z.Next()
		raw := z.Raw()
		begin := at
		at += len(raw)
		if kind == html.ErrorToken || at > len(e.src) || e.src[begin:at] != string(raw) {
			return nil
		}
		if kindOf != "" && kind == html.TextToken && strings.TrimSpace(string(raw)) != "" {
			e.script(kindOf, begin, string(raw), lines)
		}
		kindOf = ""
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken && kind != html.EndTagToken {
			continue
		}
		tag, _ := z.TagName()
		name := string(tag)
		if kind == html.EndTagToken {
			e.close(name)
			continue
		}
		foreign := e.foreign()
		if foreign {
			z.NextIsNotRawText()
		}
		attributes := attributesOf(e.src, begin+1+len(name), at)
		if err := e.tag(name, attributes); err != nil {
			return err
		}
		empty := kind == html.SelfClosingTagToken && (foreign || name == "svg" || name == "math")
		if isContainer(name) && !empty {
			e.open = append(e.open, name)
		}
		if name != "script" || !e.in.times {
			continue
		}
		src, external := find(attributes, "src")
		switch t := scriptType(attributes); {
		case external && (t == classic || t == module): // a page may insert a copy of a template's script
			e.integrity(attributes, src.decoded, t == module)
		case external:
		case foreign:
			e.foreignScript = true
		case len(e.open) > 0: // a template's scripts do not run
		default:
			kindOf = t
		}
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
	if !isContainer(name) {
		return
	}
	for i := len(e.open) - 1; i >= 0; i-- {
		if e.open[i] == name {
			e.open = e.open[:i]
			return
		}
	}
}

// tag handles the attributes of an element.
func (e *pageEditor) tag(name string, all []attribute) error {
	get := func(key string) string {
		a, _ := find(all, key)
		return a.decoded
	}
	for _, a := range all {
		value := a.decoded
		if len(a.name) > 2 && strings.HasPrefix(a.name, "on") || strings.HasPrefix(strings.TrimSpace(
			strings.ToLower(value[:min(len(value), 50)])), "javascript:") || name == "iframe" && a.name == "srcdoc" {
			e.attributeBytes += len(value)
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
		switch equiv := strings.ToLower(strings.TrimSpace(get("http-equiv"))); {
		case equiv == "content-security-policy" && ok && len(e.open) == 0:
			e.metas, e.policies = append(e.metas, content), e.policies+","+content.decoded
		case equiv == "content-type":
			return checkCharset(content.decoded)
		}
		return checkLabel(get("charset"))
	case "link":
		rel := strings.Fields(strings.ToLower(get("rel")))
		if slices.Contains(rel, "modulepreload") || slices.Contains(rel, "preload") && strings.EqualFold(get("as"),
			"script") {
			e.integrity(all, get("href"), slices.Contains(rel, "modulepreload"))
		}
	}
	return nil
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
	address.Fragment = ""
	e.in.mu.Lock()
	defer e.in.mu.Unlock()
	key := address.Scheme + "://" + address.Host + address.EscapedPath() + "?" + address.RawQuery
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

// script rewrites an inline script.
func (e *pageEditor) script(kind string, at int, text string, lines *walker) {
	switch kind {
	case importMap:
		// Browsers would compare the hashes of modules with the changed ones.
		if i := strings.Index(text, `"integrity"`); i >= 0 {
			e.insert(at+i+1, "data-")
			e.replaced(text, text[:i+1]+"data-"+text[i+1:])
		}
	case classic, module:
		c, begin := e.in.rewrite(text, kind == module, ""), lines.to(at)
		e.in.serves(e.url.String(), begin, text, c)
		before := 0
		for _, n := range c.result.Insertions {
			e.insert(at+int(n.At)-before, c.result.Text[n.At:n.At+n.Length])
			before += int(n.Length)
		}
		if before > 0 {
			e.replaced(text, c.result.Text)
		}
	}
}

// replaced notes the hashes of a script that policies may contain. Browsers hash the text with line
// breaks of their own.
func (e *pageEditor) replaced(before, after string) {
	breaks := strings.NewReplacer("\r\n", "\n", "\r", "\n")
	before, after = breaks.Replace(before), breaks.Replace(after)
	s := inlineScript{after: scriptHash("sha256", after)}
	for _, name := range []string{"sha256", "sha384", "sha512"} {
		s.before = append(s.before, scriptHash(name, before))
	}
	e.inline = append(e.inline, s)
}

// Types of script elements.
const (
	classic   = "classic"
	module    = "module"
	importMap = "importmap"
	data      = "data"
)

// scriptType returns the type of a script element (HTML, 4.12.1.1).
func scriptType(all []attribute) string {
	kind, ok := find(all, "type")
	text := strings.ToLower(strings.TrimSpace(kind.decoded))
	if language, has := find(all, "language"); !ok && has && language.decoded != "" {
		text = "text/" + strings.ToLower(language.decoded)
	}
	switch {
	case text == module || text == importMap:
		return text
	case text == "" || isJavaScript(text):
		return classic
	}
	return data
}

// attribute is an attribute of a tag.
type attribute struct {
	name     string // in lower case
	nameAt   int
	from, to int // the value, without quotes
	quote    byte
	decoded  string // the value without character references
}

// find returns the first attribute with a name, which counts.
func find(all []attribute, name string) (attribute, bool) {
	i := slices.IndexFunc(all, func(a attribute) bool { return a.name == name })
	if i < 0 {
		return attribute{}, false
	}
	return all[i], true
}

// attributesOf reads the attributes of a tag from the end of its name on (HTML, 13.2.5.32).
func attributesOf(src string, at, end int) (all []attribute) {
	const space = " \t\n\f\r"
	skip := func(set string) {
		for at < end && strings.IndexByte(set, src[at]) >= 0 {
			at++
		}
	}
	until := func(set string) {
		for at < end && strings.IndexByte(set, src[at]) < 0 {
			at++
		}
	}
	for {
		skip(space + "/")
		if at >= end || src[at] == '>' {
			return all
		}
		a := attribute{nameAt: at}
		at++ // also a = begins a name
		until(space + "/>=")
		a.name = strings.ToLower(src[a.nameAt:at])
		behind := at
		if skip(space); at >= end || src[at] != '=' {
			a.from, a.to = behind, behind
			all = append(all, a)
			continue
		}
		at++
		skip(space)
		switch {
		case at < end && (src[at] == '"' || src[at] == '\''):
			a.quote = src[at]
			at++
			a.from = at
			until(string(a.quote))
			a.to = at
			at = min(at+1, end)
		default:
			a.from = at
			until(space + ">")
			a.to = at
		}
		a.decoded = html.UnescapeString(src[a.from:a.to])
		all = append(all, a)
	}
}

// algorithms of hashes, from the weakest on.
var algorithms = []string{"sha256", "sha384", "sha512"}

func digest(name, text string) string {
	var h hash.Hash
	switch name {
	case "sha256":
		h = sha256.New()
	case "sha384":
		h = sha512.New384()
	default:
		h = sha512.New()
	}
	h.Write([]byte(text)) // a hash never fails
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// scriptHash returns a hash as policies have it.
func scriptHash(name, text string) string { return "'" + name + "-" + digest(name, text) + "'" }

// matches reports whether a text has one of the strongest hashes of an attribute integrity (SRI,
// 3.3.4). Without a known hash, every text matches.
func matches(integrity, text string) bool {
	for _, name := range slices.Backward(algorithms) {
		any := false
		for _, one := range strings.Fields(integrity) {
			one, _, _ = strings.Cut(one, "?")
			value, ok := strings.CutPrefix(strings.ToLower(one[:min(len(one), 7)])+one[min(len(one), 7):], name+"-")
			if !ok {
				continue
			}
			any = true
			value = strings.NewReplacer("-", "+", "_", "/").Replace(value)
			if value == digest(name, text) {
				return true
			}
		}
		if any {
			return false
		}
	}
	return true
}
