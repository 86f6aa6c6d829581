package vitals

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Request is one request, for [Count].
type Request struct {
	Type   string // of [TypeOf]
	Domain string
	Bytes  int64
}

// Traffic is the requests of one type or of one domain.
type Traffic struct {
	Name     string `json:"name"`
	Requests int    `json:"requests"`
	Bytes    int64  `json:"bytes"`
}

// maxTraffic limits the lines of a list. The last one has the others.
const maxTraffic = 40

// rest is the name of that line.
const rest = "others"

// Count counts requests by type and by domain. Lists begin with the most bytes.
func Count(all []Request) (types, domains []Traffic) {
	return count(all, func(r Request) string { return r.Type }),
		count(all, func(r Request) string { return r.Domain })
}

func count(all []Request, of func(Request) string) []Traffic {
	lines := map[string]*Traffic{}
	for _, r := range all {
		name := cmp.Or(of(r), "unknown")
		t := lines[name]
		if t == nil {
			t = &Traffic{Name: name}
			lines[name] = t
		}
		t.Requests++
		t.Bytes += r.Bytes
	}
	list := []Traffic{}
	for _, t := range slices.SortedFunc(maps.Values(lines), func(a, b *Traffic) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Requests, a.Requests),
			strings.Compare(a.Name, b.Name))
	}) {
		if n := len(list); n == maxTraffic {
			list[n-1] = Traffic{rest, list[n-1].Requests + t.Requests, list[n-1].Bytes + t.Bytes}
			continue
		}
		list = append(list, *t)
	}
	return list
}

// TypeOf returns the type of a request for its MIME type, or for the initiator of a page's resource
// timing.
func TypeOf(s string) string {
	s, _, _ = strings.Cut(strings.ToLower(s), ";")
	s = strings.TrimSpace(s)
	switch kind, _, _ := strings.Cut(s, "/"); {
	case strings.Contains(s, "javascript") || s == "script":
		return "script"
	case s == "text/css" || s == "css" || s == "link":
		return "style"
	case kind == "font" || strings.Contains(s, "font"):
		return "font"
	case kind == "image" || kind == "img":
		return "image"
	case kind == "audio" || kind == "video" || kind == "track":
		return "media"
	case s == "text/html" || kind == "iframe" || kind == "document":
		return "document"
	case strings.Contains(s, "json") || kind == "fetch" || s == "xmlhttprequest" || kind == "beacon":
		return "data"
	}
	return "other"
}
