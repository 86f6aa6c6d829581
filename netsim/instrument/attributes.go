package instrument

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"hash"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

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
