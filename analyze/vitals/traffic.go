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

// TypeOf returns the type of a request for its MIME type.
func TypeOf(mime string) string {
	s, _, _ := strings.Cut(strings.ToLower(mime), ";")
	s = strings.TrimSpace(s)
	switch kind, _, _ := strings.Cut(s, "/"); {
	case strings.Contains(s, "javascript"):
		return "script"
	case s == "text/css":
		return "style"
	case kind == "font" || strings.Contains(s, "font"):
		return "font"
	case kind == "image":
		return "image"
	case kind == "audio" || kind == "video":
		return "media"
	case s == "text/html":
		return "document"
	case strings.Contains(s, "json"):
		return "data"
	}
	return "other"
}

// endings are types by the ending of a path.
var endings = map[string]string{"js": "script", "mjs": "script", "css": "style", "woff": "font", "woff2": "font",
	"ttf": "font", "otf": "font", "png": "image", "jpg": "image", "jpeg": "image", "gif": "image", "webp": "image",
	"avif": "image", "svg": "image", "ico": "image", "mp3": "media", "mp4": "media", "webm": "media",
	"html": "document", "json": "data"}

// initiators are types by the initiator of a resource timing. A style sheet or a link can request
// any type.
var initiators = map[string]string{"script": "script", "img": "image", "image": "image", "audio": "media",
	"video": "media", "track": "media", "iframe": "document", "xmlhttprequest": "data", "fetch": "data",
	"beacon": "data"}

// typeOfResource returns the type of a resource timing. The MIME type counts before the initiator,
// and that before the ending of the path. Browsers may lack the MIME type.
func typeOfResource(mime, initiator, ending string) string {
	if mime != "" {
		return TypeOf(mime)
	}
	return cmp.Or(initiators[initiator], endings[strings.ToLower(ending)], "other")
}
