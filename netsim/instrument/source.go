package instrument

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/eideticker/eideticker/netsim/instrument/sourcemap"
	"github.com/eideticker/eideticker/netsim/internal/body"
)

// noteMap keeps the address of a script's source map (ECMA-426, 11.1.2).
func (in *Instrument) noteMap(script *url.URL, h http.Header, text string) {
	address := h.Get("SourceMap")
	if address == "" {
		address = h.Get("X-SourceMap")
	}
	if address == "" {
		address = lastComment(text, " sourceMappingURL=")
	}
	if address == "" {
		return
	}
	key := ""
	if !strings.HasPrefix(address, "data:") {
		to, err := script.Parse(address)
		if err != nil || to.Host != script.Host || to.Scheme != script.Scheme || !strings.HasPrefix(to.Scheme, "http") {
			return // this program serves no map of another site
		}
		to.Fragment = ""
		address, key = to.String(), elementKey(to, to.RawQuery)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if s := in.texts[script.String()]; s != nil {
		s.source = address
		if key != "" && len(in.maps) < maxAddresses {
			in.maps[key] = s
		}
	}
}

// lastComment returns the address in the last comment that begins with # or @ and a name. The
// comment ends its line. The address is empty without one.
func lastComment(text, name string) string {
	i := -1 // strings.LastIndex is slower
	for from := 0; ; {
		next := strings.Index(text[from:], name)
		if next < 0 {
			break
		}
		i = from + next
		from = i + len(name)
	}
	if i < 3 || text[i-1] != '#' && text[i-1] != '@' || text[i-3] != '/' {
		return ""
	}
	line, _, _ := strings.Cut(text[i+len(name):], "\n")
	end := strings.IndexAny(line, " \t\r\"'`*")
	if end < 0 {
		return line
	}
	if rest := strings.TrimSpace(line[end:]); rest != "" && rest != "*/" { // a text in the program
		return ""
	}
	return line[:end]
}

// Mapped reports whether a served script has a source map.
func (in *Instrument) Mapped(url string) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	s := in.texts[url]
	return s != nil && s.source != ""
}

// Sources returns the sources of places in the original of a served script. The site serves the
// map. A script without one has no sources.
func (in *Instrument) Sources(ctx context.Context, site http.Handler, url string, places []sourcemap.Place) (
	[]sourcemap.Source, error) {
	in.mu.Lock()
	s := in.texts[url]
	in.mu.Unlock()
	if s == nil || s.source == "" {
		return make([]sourcemap.Source, len(places)), nil
	}
	data, err := mapAt(ctx, site, s.source)
	if errors.Is(err, errNoMap) { // which is usual for archives
		return make([]sourcemap.Source, len(places)), nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the source map of %.200s: %w", url, err)
	}
	found, err := sourcemap.Lookup(data, places)
	if err != nil {
		return nil, fmt.Errorf("%.200s: %w", url, err)
	}
	return found, nil
}

// mapAt returns the map at an address.
func mapAt(ctx context.Context, site http.Handler, address string) ([]byte, error) {
	if rest, ok := strings.CutPrefix(address, "data:"); ok {
		head, data, _ := strings.Cut(rest, ",")
		if strings.HasSuffix(head, ";base64") {
			return base64.StdEncoding.DecodeString(data)
		}
		text, err := url.PathUnescape(data)
		return []byte(text), err
	}
	if site == nil {
		return nil, errNoMap
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	r.RequestURI = r.URL.RequestURI()
	if r.URL.Scheme == "https" {
		r.TLS = &tls.ConnectionState{}
	}
	w := &fetched{header: http.Header{}, status: http.StatusOK}
	if err := w.serve(site, r); err != nil {
		return nil, err
	}
	return body.Unpack(w.body, body.Codings(w.header.Values("Content-Encoding")), sourcemap.MaxBytes)
}

var errNoMap = errors.New("the site does not serve the map")

// fetched is a response in memory.
type fetched struct {
	header http.Header
	status int
	body   []byte
}

func (f *fetched) serve(site http.Handler, r *http.Request) (err error) {
	defer func() {
		if failed := recover(); failed != nil {
			err = fmt.Errorf("the site fails: %.200v", failed)
		}
	}()
	site.ServeHTTP(f, r)
	switch {
	case f.status != http.StatusOK:
		return errNoMap
	case len(f.body) > sourcemap.MaxBytes:
		return errors.New("it is longer than 64 MiB")
	}
	return r.Context().Err()
}

func (f *fetched) Header() http.Header { return f.header }

// Flush is for sites that send a response as it was recorded.
func (f *fetched) Flush() {}

func (f *fetched) WriteHeader(status int) {
	if status >= 200 {
		f.status = status
	}
}

func (f *fetched) Write(b []byte) (int, error) {
	if len(f.body) > sourcemap.MaxBytes {
		return 0, errors.New("the response is too long")
	}
	f.body = append(f.body, b...)
	return len(b), nil
}

// shifted returns the map of a script with its insertions.
func (s *served) shifted(data []byte) ([]byte, error) {
	lines := map[int][]sourcemap.Insertion{}
	w, line, more := newWalker(s.text, position{1, 1}), 0, 0
	for _, n := range s.spans {
		at := w.to(n.at)
		if at.line != line {
			line, more = at.line, 0
		}
		length := w.to(n.at+n.length).column - at.column
		lines[line] = append(lines[line], sourcemap.Insertion{Column: at.column - more, Length: length})
		more += length
	}
	return sourcemap.Shift(data, func(line int) []sourcemap.Insertion { return lines[line] })
}
