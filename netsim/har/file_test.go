package har

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

func written(t testing.TB) []byte {
	t.Helper()
	e := aLoad()
	e.Exchanges[0].URL = "http://page.test/?a=1&b=%20x&a="
	e.Exchanges[1].Method, e.Exchanges[1].RequestBytes, e.Exchanges[1].Received = "POST", 5000,
		e.Exchanges[1].Began.Add(5*time.Millisecond)
	e.Exchanges[0].Header["Cookie"] = []string{"id=7; theme=dark"}
	e.Exchanges[0].ResponseHeader["Set-Cookie"] = []string{
		"id=8; Path=/; HttpOnly; Expires=Sun, 22 Nov 2026 03:00:00 GMT"}
	var b bytes.Buffer
	err := New(e).Write(&b, Options{
		Creator: Program{Name: "eideticker", Version: "test"}, Browser: Program{Name: "Firefox", Version: "128"},
		Title: "a load", Wall: 1_700_000_000_000_000_000 - int64(at(0)),
		StartRender: at(400), LastChange: at(700), Comment: "made by a test",
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// schema has the specification's fields and their types. s is a string and t a time of ISO 8601. n
// is a number, i a whole number and o an object. A field with ? may be missing. [ is a list.
var schema = map[string]string{
	"file":        "log:o.log",
	"log":         "version:s creator:o.program browser?:o.program pages?:[.page entries:[.entry comment?:s",
	"program":     "name:s version:s comment?:s",
	"page":        "startedDateTime:t id:s title:s pageTimings:o.pageTimings comment?:s",
	"pageTimings": "onContentLoad?:n onLoad?:n comment?:s",
	"entry": "pageref?:s startedDateTime:t time:n request:o.request response:o.response cache:o.cache " +
		"timings:o.timings serverIPAddress?:s connection?:s comment?:s",
	"request": "method:s url:s httpVersion:s cookies:[.cookie headers:[.pair queryString:[.pair " +
		"postData?:o.postData headersSize:i bodySize:i comment?:s",
	"response": "status:i statusText:s httpVersion:s cookies:[.cookie headers:[.pair content:o.content " +
		"redirectURL:s headersSize:i bodySize:i comment?:s",
	"cookie":   "name:s value:s path?:s domain?:s expires?:t httpOnly?:b secure?:b comment?:s",
	"pair":     "name:s value:s comment?:s",
	"postData": "mimeType:s params?:[.param text:s comment?:s",
	"param":    "name:s value?:s fileName?:s contentType?:s comment?:s",
	"content":  "size:i compression?:i mimeType:s text?:s encoding?:s comment?:s",
	"cache":    "comment?:s",
	"timings":  "blocked?:n dns?:n connect?:n send:n wait:n receive:n ssl?:n comment?:s",
}

// againstSchema says what of a value is not as the specification has it.
func againstSchema(kind string, v any) error {
	object, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("%s is %T", kind, v)
	}
	known := map[string]bool{}
	for field := range strings.FieldsSeq(schema[kind]) {
		name, want, _ := strings.Cut(field, ":")
		optional := strings.HasSuffix(name, "?")
		name = strings.TrimSuffix(name, "?")
		known[name] = true
		got, there := object[name]
		switch {
		case !there && optional:
		case !there:
			return fmt.Errorf("%s has no %s", kind, name)
		default:
			if err := ofType(want, got); err != nil {
				return fmt.Errorf("%s.%s: %w", kind, name, err)
			}
		}
	}
	for name := range object {
		if !known[name] && !strings.HasPrefix(name, "_") {
			return fmt.Errorf("%s.%s is none of the specification's, and has no _", kind, name)
		}
	}
	return nil
}

func ofType(want string, v any) error {
	kind, of, _ := strings.Cut(want, ".")
	switch kind {
	case "o":
		return againstSchema(of, v)
	case "[":
		list, ok := v.([]any)
		if !ok {
			return fmt.Errorf("%T, want a list", v)
		}
		for _, one := range list {
			if err := againstSchema(of, one); err != nil {
				return err
			}
		}
		return nil
	case "b":
		if _, ok := v.(bool); !ok {
			return fmt.Errorf("%T, want a truth value", v)
		}
	case "n", "i":
		n, ok := v.(float64)
		if !ok || kind == "i" && n != math.Trunc(n) {
			return fmt.Errorf("%v, want a number of kind %s", v, kind)
		}
	default:
		text, ok := v.(string)
		if !ok {
			return fmt.Errorf("%T, want a text", v)
		}
		if kind == "t" {
			_, err := time.Parse(time.RFC3339Nano, text)
			return err
		}
	}
	return nil
}

// A written file is HAR 1.2 and is read back unchanged, and its parts add up.
func TestWritten(t *testing.T) {
	raw := written(t)
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	if err := againstSchema("file", v); err != nil {
		t.Fatal(err)
	}
	f, err := Read(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	g, err := Read(bytes.NewReader(again))
	if err != nil || !reflect.DeepEqual(f, g) {
		t.Errorf("%v: it is another when it is read again", err)
	}
	if len(f.Log.Entries) != 4 || f.Log.Version != "1.2" || len(f.Log.Names) != 4 ||
		f.Log.Names[3].Result != "refused" {
		t.Fatalf("%d entries of %s, %+v", len(f.Log.Entries), f.Log.Version, f.Log.Names)
	}
	for i, e := range f.Log.Entries {
		x := e.Timings
		if sum := max(0, x.Blocked) + max(0, x.DNS) + max(0, x.Connect) + x.Send + x.Wait +
			x.Receive; math.Abs(sum-e.Time) > 1e-6 {
			t.Errorf("entry %d: its parts are %v ms, its time %v", i, sum, e.Time)
		}
		if x.SSL > x.Connect && x.SSL > 0 {
			t.Errorf("entry %d: TLS took %v ms of the %v to connect", i, x.SSL, x.Connect)
		}
	}
	first := f.Log.Entries[0]
	if got, want := first.Timings, (Timings{Blocked: 8, DNS: 103, Connect: 101, Wait: 101, Receive: 7, SSL: -1}); !near(
		got, want) {
		t.Errorf("the first request: %+v, want %+v", got, want)
	}
	if tls := f.Log.Entries[1].Timings; tls.SSL != 104 || tls.Connect != 206 {
		t.Errorf("by TLS: %+v", tls)
	}
	if post := f.Log.Entries[2]; post.Request.Method != "POST" || post.Timings.Send != 5 || post.Timings.Wait != 96 ||
		post.Request.BodySize != 5000 {
		t.Errorf("what sends a body: %+v", post)
	}
	if first.Time != 320 || !first.Started.Equal(time.Unix(1_700_000_000, 10_000_000)) ||
		first.Request.Cookies[1].Value != "dark" || first.Response.Cookies[0].Expires != "2026-11-22T03:00:00Z" {
		t.Errorf("%+v", first)
	}
	if q := first.Request.Query; len(q) != 3 || q[1].Value != " x" || q[2].Name != "a" {
		t.Errorf("query %+v", q)
	}
	if m := first.Moments; m.FirstByte.By != Line || m.FirstByte.At != int64(at(323)) || m.TLSFrom != (Instant{}) {
		t.Errorf("%+v", m)
	}
	page := f.Log.Pages[0]
	if p := page.Timings; *p.StartRender != 390 || *p.LastChange != 690 || p.OnLoad != -1 {
		t.Errorf("%+v", p)
	}
}

func near(a, b Timings) bool {
	for _, pair := range [][2]float64{{a.Blocked, b.Blocked}, {a.DNS, b.DNS}, {a.Connect, b.Connect}, {a.Send, b.Send},
		{a.Wait, b.Wait}, {a.Receive, b.Receive}, {a.SSL, b.SSL}} {
		// The name was there 7 ms before the connection began, and 1 ms passed before the request.
		if math.Abs(pair[0]-pair[1]) > 1e-6 {
			return false
		}
	}
	return true
}

// What our own checker is for.
func TestSchemaCatches(t *testing.T) {
	for _, bad := range []string{`"version":1.2`, `"statusText":null`, `"queryString":{}`, `"startedDateTime":"today"`,
		`"headersSize":0.5`, `"made":1`} {
		name, _, _ := strings.Cut(strings.Trim(bad, `"`), `"`)
		var plain bytes.Buffer
		if err := json.Compact(&plain, written(t)); err != nil {
			t.Fatal(err)
		}
		text := plain.String()
		at := strings.Index(text, `"`+name+`":`)
		if at < 0 {
			at = strings.Index(text, `"cookies":`)
			text = text[:at] + bad + "," + text[at:]
		} else {
			text = text[:at] + bad + `,"_was":` + text[at+len(name)+3:]
		}
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if againstSchema("file", v) == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

const least = `{"log":{"version":"1.2","creator":{"name":"a","version":"1"},"entries":[%s]}}`

// minimal is an entry as other programs write them: with less than there could be.
const minimal = `{"startedDateTime":"2026-11-22T03:00:00.123+01:00","time":3,
"request":{"method":"GET","url":"https://a.test/x?y","headers":[]},
"response":{"status":200,"content":{"size":3,"mimeType":"text/plain","text":"YWJj","encoding":"base64"}},
"cache":{"afterRequest":{"hitCount":1}},"timings":{"send":1,"wait":1,"receive":1},"_of":"others"}`

func TestReadOthers(t *testing.T) {
	f, err := Read(strings.NewReader(fmt.Sprintf(least, minimal)))
	if err != nil {
		t.Fatal(err)
	}
	e := f.Log.Entries[0]
	body, ok := e.Response.Content.Bytes()
	if string(body) != "abc" || !ok || e.Timings.DNS != -1 || e.Timings.Wait != 1 {
		t.Errorf("%q, %+v", body, e.Timings)
	}
	for value, want := range map[string]ID{
		`"0123456789abcdef"`: "0123456789abcdef", `"` + strings.Repeat("a", maxID) +
			`"`: ID(strings.Repeat("a", maxID)), `""`: "",
		`null`: "", `5`: "", `{"id":["0a"]}`: "", `"0A"`: "", `"../0a"`: "", `"\u003cb"`: "",
		`"` + strings.Repeat("a", maxID+1) + `"`: "",
	} {
		text := strings.Replace(fmt.Sprintf(least, minimal), `"entries"`, `"_recording":`+value+`,"entries"`, 1)
		if f, err := Read(strings.NewReader(text)); err != nil || f.Log.Recording != want || len(f.Log.Entries) != 1 {
			t.Errorf("_recording %s: %+v, %v, want %q", value, f, err, want)
		}
	}
}

// Fault: A page makes too many requests for a picture or table
func TestReadRefuses(t *testing.T) {
	with := func(old, new string) string { return fmt.Sprintf(least, strings.Replace(minimal, old, new, 1)) }
	for want, text := range map[string]string{
		"unexpected end":       `{"log":{`,
		"log.version":          `{"log":{"version":"3","entries":[]}}`,
		"startedDateTime":      with(`"2026-11-22T03:00:00.123+01:00"`, `"0001-01-01T00:00:00Z"`),
		"not absolute":         with("https://a.test/x?y", "/x"),
		"method is":            with("GET", "G T"),
		"a time of":            with(`"wait":1`, `"wait":-2`),
		"status is":            with("200", "2000"),
		"not base64":           with("YWJj", "?"),
		"only base64 is known": with("base64", "rot13"),
		"a size of":            with(`"size":3`, `"size":-3`),
		"more values than":     fmt.Sprintf(least, strings.Repeat("null,", maxEntries+maxPages+maxNames+1)+"null"),
		"entries, at most":     fmt.Sprintf(least, strings.Repeat(minimal+",", maxEntries)+minimal),
		"fields, at most": with(`"headers":[]`, `"headers":[`+strings.Repeat(`{"name":"a","value":"b"},`,
			MaxFields)+`{"name":"a","value":"b"}]`),
		"nested over": `{"log":` + strings.Repeat("[", 200),
		"which is not there": strings.Replace(with(`"time":3`, `"time":3,"pageref":"q"`), `"entries"`,
			`"pages":[{"id":"p","startedDateTime":"2026-11-22T03:00:00Z","title":"","pageTimings":{}}],"entries"`, 1),
		"has no id of its own": strings.Replace(fmt.Sprintf(least, minimal), `"entries"`,
			`"pages":[{"id":"p","startedDateTime":"2026-11-22T03:00:00Z"},`+
				`{"id":"p","startedDateTime":"2026-11-22T03:00:00Z"}],"entries"`, 1),
		"cannot unmarshal array": `{"log":[]}`,
	} {
		_, err := Read(strings.NewReader(text))
		if err == nil || !errors.Is(err, errFile) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// FuzzRead: a file of anybody is refused, or is read and is the same when it is written and read
// again.
//
// Fault: A page makes too many requests for a picture or table
func FuzzRead(f *testing.F) {
	f.Add(written(f))
	f.Add(fmt.Appendf(nil, least, minimal))
	f.Add([]byte(`{"log":{"version":"1.1","entries":[null]}}`))
	f.Add([]byte(`{"log":{"version":"1.2","pages":[{"id":"\"]}"}],"entries":[]}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		file, err := Read(bytes.NewReader(raw))
		if err != nil {
			return
		}
		for _, e := range file.Log.Entries {
			e.Response.Content.Bytes()
			if e.Request.Body != nil {
				e.Request.Body.Bytes()
			}
		}
		again, err := json.Marshal(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Read(bytes.NewReader(again)); err != nil {
			t.Fatalf("%v: what was read is not taken again", err)
		}
	})
}

// TestFilesAreReadAgain: a header is bounded by its bytes when it is served, and by its fields when
// it is read.
func TestFilesAreReadAgain(t *testing.T) {
	e := aLoad()
	x := &e.Exchanges[0]
	many := make([]string, MaxFields+10)
	for i := range many {
		many[i] = fmt.Sprint("c", i, "=", i)
	}
	x.URL += "?" + strings.Join(many, "&")
	x.Header["Cookie"], x.ResponseHeader["Set-Cookie"] = []string{strings.Join(many, "; ")}, many
	var b bytes.Buffer
	if err := New(e).Write(&b, Options{Creator: Program{Name: "eideticker", Version: "test"}}); err != nil {
		t.Fatal(err)
	}
	f, err := Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	if r := f.Log.Entries[0]; len(r.Request.Query) != MaxFields || len(r.Request.Cookies) != MaxFields ||
		len(r.Response.Cookies) != MaxFields {
		t.Errorf("%d parts of the query, %d and %d cookies", len(r.Request.Query), len(r.Request.Cookies),
			len(r.Response.Cookies))
	}
}
