package instrument

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/eideticker/eideticker/netsim/internal/document"
	"github.com/eideticker/eideticker/pattern"
)

// Limits of the code that pages make.
const (
	maxMade      = 1 << 20  // bytes of one text
	maxMadeBytes = 64 << 20 // of all texts
	maxHashes    = 10_000
)

// waiting is the number of the function in which a page waits for Dynamic.
const waiting = 1<<32 - 1

var (
	errHash  = errors.New("a content security policy allows only its hash")
	errLimit = errors.New("pages made too much code")
)

// Dynamic rewrites code that a page has made. It returns false if the code must run as it is. The
// kind is a goal of SCRIPT.md. The address of the page is a claim.
func (in *Instrument) Dynamic(kind, page, text string) (changed string, ok bool) {
	address, err := url.Parse(page)
	if err != nil || len(page) > 1000 || address.Host == "" {
		address = &url.URL{Scheme: "about", Opaque: "blank"}
	}
	address.RawQuery, address.Fragment = "", ""
	in.count(programKey{hash: "waiting"}, func() *Program {
		return &Program{URL: "about:blank", Goal: string(evalGoal), First: waiting,
			Functions: []FunctionInfo{{Name: "(wait for the rig)", Line: 1, Column: 1}}}
	})
	if changed, err = in.dynamic(kind, address, text); err != nil {
		in.servesPlain(address.String(), string(evalGoal), hashOf(text), len(text), err.Error())
		return "", false
	}
	return changed, true
}

func (in *Instrument) dynamic(kind string, page *url.URL, text string) (string, error) {
	origin := in.o.Collector(page.Host, page.Scheme == "https")
	in.mu.Lock()
	in.made += len(text) + oneCached
	over := len(text) > maxMade || in.made > maxMadeBytes
	in.mu.Unlock()
	switch {
	case over || !in.times || origin == "":
		return "", errLimit
	case kind == "html", kind == "srcdoc":
		e := in.editor(page, origin, "")
		e.src, e.made, e.fragment = text, true, kind == "html"
		err := e.document()
		return e.out.String(), err
	case (kind == string(scriptGoal) || kind == string(moduleGoal) || goal(kind).begin() != "") && in.hasHash(text):
		return "", errHash
	}
	to, head := goal(kind), ""
	switch kind {
	case "worker":
		to, head = scriptGoal, in.prelude(origin).text+";"
	case "moduleworker":
		to, head = moduleGoal, in.prelude(origin).text+";"
	case string(scriptGoal), string(moduleGoal):
		head = in.guard()
	case string(evalGoal):
	default:
		if to.begin() == "" {
			return "", errors.New("unknown kind of code")
		}
	}
	c := in.rewrite(text, to, head)
	if c.reason != "" {
		return "", errors.New(c.reason)
	}
	if own := sourceURL(text); own != nil && to.begin() == "" &&
		in.remember(own.String(), c.result.Text, spansOf(c.result.Insertions), true) {
		page = own
		in.noteMap(own, http.Header{}, c.result.Text)
	}
	in.serves(page.String(), position{1, 1}, text, c)
	return c.result.Text, nil
}

// sourceURL returns the address that code states for itself, without its query; nil: none. Bundlers
// make a text of each module.
func sourceURL(text string) *url.URL {
	address := lastComment(text, " sourceURL=")
	own, err := url.Parse(address)
	if err != nil || address == "" || len(address) > 1000 || own.Host == "" && own.Path == "" {
		return nil
	}
	own.RawQuery, own.Fragment, own.ForceQuery = "", "", false
	return own
}

// allow adapts a content security policy to the runtime: its requests, and its trusted types.
func (in *Instrument) allow(policy, origin string) string {
	return document.AllowTypes(document.AllowConnect(policy, origin), in.o.Nonce[1:])
}

var hashSource = pattern.New(`'sha(?:256|384|512)-[A-Za-z0-9+/_=-]+'`)

// noteHashes keeps the hashes of policies. Browsers run such code only as it is.
func (in *Instrument) noteHashes(policies string) {
	found := hashSource.FindAllString(policies, maxHashes)
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, h := range found {
		if len(in.hashes) < maxHashes {
			in.hashes[h] = true
		}
	}
}

func (in *Instrument) hasHash(text string) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.hashes) == 0 {
		return false
	}
	for _, name := range algorithms {
		if in.hashes[scriptHash(name, text)] {
			return true
		}
	}
	return false
}
