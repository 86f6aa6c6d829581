package replay

import (
	"bufio"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/eideticker/eideticker/netsim/har"
	"github.com/eideticker/eideticker/netsim/internal/body"
)

// importHAR reads what a browser or another program has exported. Its bodies are unpacked; those
// that were sent packed are packed again the same way, so that about as many bytes are sent. What a
// HAR calls wait becomes the think time; what it calls receive is what its line took, and is not
// kept as times of chunks.
func importHAR(r io.Reader, l Limits) (*Archive, error) {
	in := bufio.NewReader(r)
	if mark, err := in.Peek(3); err == nil && string(mark) == "\xef\xbb\xbf" { // which some exports begin with
		_, _ = in.Discard(len(mark))
	}
	f, err := har.Read(in)
	if err != nil {
		return nil, err
	}
	a := &Archive{Info: Info{
		Writer: sentence(strings.TrimSpace("HAR of " + f.Log.Creator.Name + " " + f.Log.Creator.Version))}}
	entries := f.Log.Entries
	slices.SortStableFunc(entries, func(x, y har.Entry) int { return x.Started.Compare(y.Started) })
	if len(entries) > 0 {
		a.Info.Created = entries[0].Started.UTC()
	}
	pool := newPool(l)
	for i := range entries {
		if len(a.Exchanges) == l.Exchanges {
			return nil, fmt.Errorf("there are more than %d entries", l.Exchanges)
		}
		h := &entries[i]
		e, err := fromHAR(h, pool, l)
		if err == nil {
			e.Number, e.Began = len(a.Exchanges)+1, min(h.Started.Sub(a.Info.Created), year)
			err = e.check(l)
		}
		if err != nil {
			a.note("%s %s is left out: %v", h.Request.Method, h.Request.URL, err)
			continue
		}
		if e.Missing != "" {
			a.note("%s %s: %s", e.Method, e.URL, e.Missing)
		}
		a.Exchanges = append(a.Exchanges, e)
	}
	return a, nil
}

func fromHAR(h *har.Entry, p *pool, l Limits) (*Exchange, error) {
	address, _, _ := strings.Cut(h.Request.URL, "#")
	e := &Exchange{Method: h.Request.Method, URL: address, Upstream: sentence(h.Response.Version),
		Header: fromPairs(h.Request.Headers, l),
		Status: h.Response.Status, ResponseHeader: fromPairs(h.Response.Headers, l), Error: sentence(h.Error),
		Think: fromMS(h.Timings.Wait), Ended: fromMS(h.Timings.Receive)}
	if t := h.Timings; t.Connect > 0 {
		e.RoundTrip = min(fromMS(t.Connect-max(0, t.SSL)), e.Think) // connect includes ssl
	}
	if e.Status == 0 && e.Error == "" {
		e.Error = "the HAR has no response to it"
	}
	asked, err := postedHAR(h.Request.Body)
	if err == nil && len(asked) > maxRequestBody {
		err = fmt.Errorf("the body of its request is larger than %d bytes", maxRequestBody)
	}
	if err == nil {
		e.Body, err = p.take(asked)
	}
	if err != nil {
		return nil, err
	}
	if e.interim() {
		e.Missing = e.notFinal()
		return e, nil
	}
	return e, e.bodyHAR(&h.Response.Content, p, l)
}

// fromPairs takes one field more than there may be, by which check sees that there are too many.
func fromPairs(all []har.Pair, l Limits) (f Fields) {
	for _, h := range all {
		if strings.HasPrefix(h.Name, ":") { // what HTTP/2 has instead of a first line
			continue
		}
		for one := range strings.SplitSeq(h.Value, "\n") { // as some have several of one name
			if f = append(f, Field{h.Name, strings.TrimSpace(one)}); len(f) > l.Fields {
				return f
			}
		}
	}
	return f
}

// fromMS is of a time of which -1 says that it does not apply.
func fromMS(ms float64) time.Duration {
	return time.Duration(max(0, ms) * float64(time.Millisecond))
}

func postedHAR(b *har.Body) ([]byte, error) {
	if b == nil {
		return nil, nil
	}
	if text, ok := b.Bytes(); ok {
		return text, nil
	}
	if body.MediaType(b.MIMEType) != "application/x-www-form-urlencoded" {
		return nil, fmt.Errorf("the HAR lacks the bytes of a form of %.60s", b.MIMEType)
	}
	var parts []string
	for _, one := range b.Params {
		parts = append(parts, url.QueryEscape(one.Name)+"="+url.QueryEscape(one.Value))
	}
	return []byte(strings.Join(parts, "&")), nil
}

// bodyHAR takes a response's content, and makes its header true again.
func (e *Exchange) bodyHAR(c *har.Content, p *pool, l Limits) error {
	content, ok := c.Bytes()
	switch {
	case !ok && e.Method == http.MethodHead:
		return nil
	case !ok && e.Missing == "":
		e.Missing = "the HAR has no body for it"
		return nil
	case int64(len(content)) > l.Body:
		e.Missing = fmt.Sprintf("its body of %d bytes is larger than %d", len(content), l.Body)
		return nil
	}
	if c.Encoding == "" {
		e.ResponseHeader = inUTF8(e.ResponseHeader)
	}
	applied := e.ResponseHeader.codings()
	if packed, err := body.Pack(content, applied); err == nil {
		content = packed
	} else {
		e.ResponseHeader = e.ResponseHeader.without("Content-Encoding")
	}
	if e.Method != http.MethodHead {
		e.ResponseHeader = e.ResponseHeader.without("Content-Length", "Transfer-Encoding")
	}
	var err error
	e.ResponseBody, err = p.take(content)
	if err == nil && len(content) > 0 {
		e.Chunks = []Chunk{{int64(len(content)), 0}}
	}
	return err
}

// inUTF8 says so in a Content-Type: the texts of a HAR are, whatever they were when they were sent.
func inUTF8(f Fields) Fields {
	f = slices.Clone(f)
	for i, h := range f {
		if !strings.EqualFold(h.Name, "Content-Type") {
			continue
		}
		kind, parameters, err := mime.ParseMediaType(h.Value)
		if err != nil || strings.EqualFold(parameters["charset"], "utf-8") || parameters["charset"] == "" &&
			!strings.HasPrefix(kind, "text/") {
			continue
		}
		parameters["charset"] = "utf-8"
		if text := mime.FormatMediaType(kind, parameters); text != "" {
			f[i].Value = text
		}
	}
	return f
}

func (f Fields) without(names ...string) Fields {
	return slices.DeleteFunc(slices.Clone(f), func(h Field) bool {
		return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, h.Name) })
	})
}

// maxUnpacked bounds the bodies of a HAR, which are unpacked and stand again for each exchange
// that has them.
const (
	maxUnpacked = 2 << 30
	leftOut     = "the body is left out: the HAR would be too large"
)

// har returns an archive as a HAR file, with the times of the recorder's side. Bodies are unpacked.
// Those that would exceed the limit in bytes are left out. Their exchanges state it.
func (a *Archive) har(version string, l int64) *har.File {
	f := &har.File{Log: har.Log{Version: "1.2", Creator: har.Program{Name: "eideticker", Version: version},
		Entries: []har.Entry{}}}
	left := l
	for _, e := range a.Exchanges {
		f.Log.Entries = append(f.Log.Entries, a.toHAR(e, &left))
	}
	return f
}

// ExportHAR writes an archive as a HAR file, with bodies of at most 2 GiB.
func (a *Archive) ExportHAR(to io.Writer, version string) error {
	w := json.NewEncoder(to)
	w.SetEscapeHTML(false)
	w.SetIndent("", " ")
	return w.Encode(a.har(version, maxUnpacked))
}

func (a *Archive) toHAR(e *Exchange, left *int64) har.Entry {
	ms := func(d time.Duration) float64 { return float64(d) / 1e6 }
	h := har.Entry{Started: a.Info.Created.Add(e.Began), Time: ms(e.Think + e.Ended), Error: cmp.Or(e.Error, e.Missing)}
	h.Timings = har.Timings{Blocked: -1, DNS: -1, Connect: -1, SSL: -1, Send: 0, Wait: ms(e.Think),
		Receive: ms(e.Ended)}
	h.Request = har.RequestMade{Method: e.Method, URL: e.URL, Version: e.Upstream, Headers: toPairs(e.Header),
		Cookies: cookiesOf(e.Header, "Cookie"), Query: []har.Pair{}, HeadersSize: -1, BodySize: e.Body.Size}
	if u, err := url.Parse(e.URL); err == nil {
		for part := range strings.SplitSeq(u.RawQuery, "&") {
			if name, value, _ := strings.Cut(part, "="); part != "" && len(h.Request.Query) < har.MaxFields {
				h.Request.Query = append(h.Request.Query, har.Pair{Name: unescape(name), Value: unescape(value)})
			}
		}
	}
	if e.Body.Size > *left {
		h.Request.Body = &har.Body{MIMEType: e.Header.Get("Content-Type"), Comment: leftOut}
	} else if e.Body.Size > 0 {
		*left -= e.Body.Size
		b := &har.Body{MIMEType: e.Header.Get("Content-Type"), Text: string(e.Body.Bytes)}
		if !utf8.Valid(e.Body.Bytes) {
			b.Text, b.Encoding = base64.StdEncoding.EncodeToString(e.Body.Bytes), "base64"
		}
		h.Request.Body = b
	}
	h.Response = har.ResponseMade{Status: e.Status, StatusText: http.StatusText(e.Status), Version: e.Upstream,
		Headers: toPairs(e.ResponseHeader), Cookies: cookiesOf(e.ResponseHeader, "Set-Cookie"),
		RedirectURL: e.ResponseHeader.Get("Location"), HeadersSize: -1, BodySize: e.ResponseBody.Size}
	c := &h.Response.Content
	c.MIMEType = e.ResponseHeader.Get("Content-Type")
	plain, err := body.Unpack(e.ResponseBody.Bytes, e.ResponseHeader.codings(), 8*DefaultLimits().Body)
	switch {
	case e.Missing != "":
		h.Response.BodySize, c.Size = -1, max(1, e.ResponseBody.Size) // so that it is seen to be missing
	case err != nil:
		h.Error, c.Size = sentence(err.Error()), e.ResponseBody.Size
	case int64(len(plain)) > *left:
		h.Response.BodySize, c.Size = -1, int64(len(plain))
		h.Error = cmp.Or(h.Error, leftOut)
	default:
		*left -= int64(len(plain))
		c.Size, c.Compression, c.Text = int64(len(plain)), int64(len(plain))-e.ResponseBody.Size, string(plain)
		if !isText(c.MIMEType, plain) {
			c.Text, c.Encoding = base64.StdEncoding.EncodeToString(plain), "base64"
		}
	}
	return h
}

// isText reports whether a body is the same when it is written as text in JSON: a text that says to
// be in another alphabet is not.
func isText(contentType string, b []byte) bool {
	kind := body.MediaType(contentType)
	if !utf8.Valid(b) || !strings.HasPrefix(kind, "text/") && !strings.HasSuffix(kind, "json") &&
		!strings.HasSuffix(kind, "xml") && !strings.HasSuffix(kind, "javascript") {
		return false
	}
	_, parameters, err := mime.ParseMediaType(contentType)
	return err == nil && (parameters["charset"] == "" || strings.EqualFold(parameters["charset"], "utf-8"))
}

func unescape(s string) string {
	if v, err := url.QueryUnescape(s); err == nil {
		return v
	}
	return s
}

func toPairs(f Fields) []har.Pair {
	all := make([]har.Pair, len(f))
	for i, h := range f {
		all[i] = har.Pair{Name: h.Name, Value: h.Value}
	}
	return all
}

func cookiesOf(f Fields, name string) []har.Cookie {
	all := []har.Cookie{}
	for _, h := range f {
		switch {
		case !strings.EqualFold(h.Name, name):
		case name == "Cookie":
			if cookies, err := http.ParseCookie(h.Value); err == nil {
				for _, c := range cookies {
					all = append(all, har.Cookie{Name: c.Name, Value: c.Value})
				}
			}
		default:
			if c, err := http.ParseSetCookie(h.Value); err == nil {
				all = append(all, har.Cookie{Name: c.Name, Value: c.Value, Path: c.Path, Domain: c.Domain,
					HTTPOnly: c.HttpOnly, Secure: c.Secure})
			}
		}
	}
	return all[:min(len(all), har.MaxFields)]
}
