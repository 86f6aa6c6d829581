package har

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"unicode/utf8"
)

// Bounds of a file that is read.
const (
	MaxBytes   = 256 << 20 // of JSON
	maxEntries = 20_000
	maxPages   = 1000
	MaxFields  = 1000      // headers, cookies, parts of a query, parameters of a form
	maxField   = 1 << 20   // bytes of one
	maxURL     = 256 << 10 // bytes; those of data: are long
	maxNames   = 100_000
)

// errFile is wrapped where a HAR file is not as it should be.
var errFile = errors.New("bad HAR file")

// Read reads a HAR file of any program. The result is within bounds, has version 1.1 or 1.2, and
// its requests can be made again.
func Read(from io.Reader) (*File, error) {
	raw, err := io.ReadAll(io.LimitReader(from, MaxBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read HAR file: %w", err)
	case len(raw) > MaxBytes:
		return nil, fmt.Errorf("%w: over %d MiB", errFile, MaxBytes>>20)
	}
	if err := bounded(raw); err != nil {
		return nil, fmt.Errorf("%w: %w", errFile, err)
	}
	var f File
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, fmt.Errorf("%w: %w", errFile, err)
	}
	if err := f.Validate(); err != nil {
		return nil, err
	}
	return &f, nil
}

// bounded refuses lists that are longer than any file has, before memory is spent on them: a comma
// makes an entry of hundreds of bytes.
func bounded(raw []byte) error {
	const (
		maxOuter = maxEntries + maxPages + maxNames // in the lists of the log
		maxInner = 4 << 20                          // in those of its entries
		deepest  = 100
	)
	outer, inner := 0, 0
	var within []byte // brackets that are open
	text, escaped := false, false
	for i, c := range raw {
		switch {
		case text && escaped:
			escaped = false
		case text && c == '\\':
			escaped = true
		case c == '"':
			text = !text
		case text:
		case c == '{' || c == '[':
			if within = append(within, c); len(within) > deepest {
				return fmt.Errorf("nested over %d deep, at byte %d", deepest, i)
			}
		case (c == '}' || c == ']') && len(within) > 0:
			within = within[:len(within)-1]
		case c == ',' && len(within) <= 3:
			outer++
		case c == ',':
			inner++
		}
		if outer > maxOuter || inner > maxInner {
			return fmt.Errorf("more values than a file has, at byte %d", i)
		}
	}
	return nil
}

// Validate returns the first error in the file.
func (f *File) Validate() error {
	l := &f.Log
	switch {
	case l.Version != "1.2" && l.Version != "1.1":
		return fmt.Errorf("%w: log.version is %.20q, want 1.2 or 1.1", errFile, l.Version)
	case len(l.Entries) > maxEntries:
		return fmt.Errorf("%w: %d entries, at most %d are read", errFile, len(l.Entries), maxEntries)
	case len(l.Pages) > maxPages:
		return fmt.Errorf("%w: %d pages, at most %d are read", errFile, len(l.Pages), maxPages)
	case len(l.Names) > maxNames:
		return fmt.Errorf("%w: %d names, at most %d are read", errFile, len(l.Names), maxNames)
	}
	pages := map[string]bool{}
	for i := range l.Pages {
		p := &l.Pages[i]
		if p.ID == "" || len(p.ID) > maxField || pages[p.ID] {
			return fmt.Errorf("%w: pages[%d] has no id of its own", errFile, i)
		}
		pages[p.ID] = true
		if err := times(p.Timings.OnContentLoad, p.Timings.OnLoad); err != nil {
			return fmt.Errorf("%w: pages[%d]: %w", errFile, i, err)
		}
	}
	for i := range l.Entries {
		e := &l.Entries[i]
		if err := e.validate(); err != nil {
			return fmt.Errorf("%w: entries[%d]: %w", errFile, i, err)
		}
		if e.Page != "" && !pages[e.Page] && len(pages) > 0 {
			return fmt.Errorf("%w: entries[%d] is of page %.40q, which is not there", errFile, i, e.Page)
		}
	}
	return nil
}

func (e *Entry) validate() error {
	if e.Started.IsZero() || e.Started.Year() < 1 || e.Started.Year() > 9999 {
		return errors.New("startedDateTime is not a time")
	}
	t := &e.Timings
	if err := times(e.Time, t.Blocked, t.DNS, t.Connect, t.Send, t.Wait, t.Receive, t.SSL); err != nil {
		return err
	}
	if err := e.Request.validate(); err != nil {
		return fmt.Errorf("request: %w", err)
	}
	if err := e.Response.validate(); err != nil {
		return fmt.Errorf("response: %w", err)
	}
	return nil
}

// times are durations in ms, of a day at most, or -1. Browsers have been seen to write ones that
// are less than nothing by a rounding.
func times(all ...float64) error {
	const most = 24 * 3600 * 1000
	for _, t := range all {
		if math.IsNaN(t) || t < -1 || t > most {
			return fmt.Errorf("a time of %v ms, want -1 to %v", t, float64(most))
		}
	}
	return nil
}

func (r *RequestMade) validate() error {
	if !token(r.Method) || len(r.Method) > 40 {
		return fmt.Errorf("method is %.40q", r.Method)
	}
	if len(r.URL) > maxURL {
		return fmt.Errorf("url of %d bytes, at most %d are read", len(r.URL), maxURL)
	}
	if u, err := url.Parse(r.URL); err != nil || !u.IsAbs() {
		return fmt.Errorf("url is %.80q, which is not absolute", r.URL)
	}
	if err := fields(r.Headers, r.Query); err != nil {
		return err
	}
	if err := cookies(r.Cookies); err != nil {
		return err
	}
	if b := r.Body; b != nil {
		if len(b.Params) > MaxFields {
			return fmt.Errorf("postData has %d params, at most %d are read", len(b.Params), MaxFields)
		}
		if err := encoded(b.Text, b.Encoding); err != nil {
			return fmt.Errorf("postData: %w", err)
		}
	}
	return sizes(r.HeadersSize, r.BodySize)
}

func (r *ResponseMade) validate() error {
	if r.Status < 0 || r.Status > 999 { // 0: none came
		return fmt.Errorf("status is %d", r.Status)
	}
	if err := fields(r.Headers); err != nil {
		return err
	}
	if err := cookies(r.Cookies); err != nil {
		return err
	}
	if err := encoded(r.Content.Text, r.Content.Encoding); err != nil {
		return fmt.Errorf("content: %w", err)
	}
	return sizes(r.HeadersSize, r.BodySize, r.Content.Size)
}

func sizes(all ...int64) error {
	for _, n := range all {
		if n < -1 || n > 1<<50 {
			return fmt.Errorf("a size of %d bytes", n)
		}
	}
	return nil
}

func fields(lists ...[]Pair) error {
	for _, list := range lists {
		if len(list) > MaxFields {
			return fmt.Errorf("%d fields, at most %d are read", len(list), MaxFields)
		}
		for _, p := range list {
			if len(p.Name) > maxField || len(p.Value) > maxField {
				return fmt.Errorf("field %.40q is over %d MiB", p.Name, maxField>>20)
			}
		}
	}
	return nil
}

func cookies(list []Cookie) error {
	if len(list) > MaxFields {
		return fmt.Errorf("%d cookies, at most %d are read", len(list), MaxFields)
	}
	return nil
}

func encoded(text, encoding string) error {
	switch encoding {
	case "":
		return nil
	case "base64":
		if _, err := base64.StdEncoding.DecodeString(text); err != nil {
			return fmt.Errorf("text is not base64: %w", err)
		}
		return nil
	}
	return fmt.Errorf("text is in %.40q, and only base64 is known", encoding)
}

// Bytes returns the body that an entry of a valid file holds; false: it holds none.
func (c *Content) Bytes() ([]byte, bool) { return bytesOf(c.Text, c.Encoding, c.Size) }

// Bytes returns what a request of a valid file sends as text; false: parameters of a form are all
// there is.
func (b *Body) Bytes() ([]byte, bool) {
	if b.Text == "" && len(b.Params) > 0 {
		return nil, false
	}
	return bytesOf(b.Text, b.Encoding, 0)
}

func bytesOf(text, encoding string, size int64) ([]byte, bool) {
	if text == "" {
		return nil, size <= 0
	}
	if encoding == "base64" {
		b, err := base64.StdEncoding.DecodeString(text)
		return b, err == nil
	}
	return []byte(text), utf8.ValidString(text)
}

// token reports whether a text is one of RFC 9110.
func token(s string) bool {
	for _, c := range []byte(s) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case c == '-', c == '_', c == '.', c == '!', c == '#', c == '$', c == '%', c == '&', c == '\'', c == '*',
			c == '+', c == '^', c == '`', c == '|', c == '~':
		default:
			return false
		}
	}
	return s != ""
}
