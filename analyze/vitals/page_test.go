package vitals

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/measure"
)

// pageOf reads an answer with a window and some members.
func pageOf(t *testing.T, members string) *Page {
	t.Helper()
	p := analyzetest.Must(Read(`{"width": 800, "height": 600` + members + `}`))(t)
	return p
}

// within checks that claims keep their limits, whatever the page claims.
func within(t *testing.T, name string, p *Page) {
	t.Helper()
	c := p.Claims(nil)
	c.Fill()
	raw, err := json.Marshal(c)
	if err != nil || len(raw) > 200_000 {
		t.Errorf("%s: %d bytes of claims, %v", name, len(raw), err)
	}
	for _, v := range c.Result.Values {
		if math.IsNaN(v.Value) || v.Value < 0 || v.Value > 1e15 {
			t.Errorf("%s: %s is %g", name, v.Name, v.Value)
		}
	}
	for _, text := range append(c.Errors, c.Element) {
		if len(text) > maxWords || strings.ContainsAny(text, "\x1b\u202e") {
			t.Errorf("%s: the text %.40q of %d bytes", name, text, len(text))
		}
	}
	if n := max(len(c.ByDomain), len(c.ByType)); n > maxTraffic {
		t.Errorf("%s: %d lines of traffic", name, n)
	}
}

// FuzzRead: an answer of a page is an error, or claims within their limits.
func FuzzRead(f *testing.F) {
	f.Add(`{"width": 800, "height": 600, "lcp": {"time": 1, "selector": "h1", "box": [1, 2, 3, 4]}, "types": ["event"],
		"shifts": [[1, 0.5]], "tasks": [[1, 60]], "durations": [8], "interactions": 1, "errors": ["e"],
		"total": {"errors": 1}, "timings": [{"name": "a", "at": 1, "lasts": 2}], "document": {"first_byte": 3},
		"resources": [{"mime": "text/css", "host": "a.test", "bytes": 7}]}`)
	f.Add(`{"width": 1e9}`)
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := Read(text); err == nil {
			within(t, "fuzzed", p)
		} else if len(err.Error()) > maxWords {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
	})
}

// value returns a value as text; "-": it was refused.
func value(t *testing.T, c *Claims, name string) string {
	t.Helper()
	c.Fill()
	v, ok := c.Result.Find(name)
	switch {
	case !ok:
		t.Errorf("no value %s", name)
	case v.State == measure.Refused && v.Note == "":
		t.Errorf("%s is refused without a reason", name)
	case v.State == measure.Refused:
		return "-"
	}
	return fmt.Sprintf("%.4g", v.Value)
}

// TestDefinitions compares the folded values with cases worked by hand.
func TestDefinitions(t *testing.T) {
	const all = `, "types": ["layout-shift", "event", "longtask", "largest-contentful-paint"], "ids": true`
	durations := func(n int) string { // n down to 1, of n interactions
		list, _ := json.Marshal(slices.Collect(func(yield func(int) bool) {
			for i := n; i > 0 && yield(i); i-- {
			}
		}))
		return fmt.Sprintf(`, "durations": %s, "interactions": %d`, list, n)
	}
	for name, tc := range map[string]struct{ page, value, want string }{
		"no shift":          {all, "cls", "0"},
		"one window":        {all + `, "shifts": [[100, 0.1], [1050, 0.2]]`, "cls", "0.3"},
		"a gap of a second": {all + `, "shifts": [[100, 0.1], [1100, 0.2]]`, "cls", "0.2"},
		"five seconds": {all +
			`, "shifts": [[0,1],[900,1],[1800,1],[2700,1],[3600,1],[4500,1],[5000,1]]`, "cls", "6"},
		"shifts out of order":       {all + `, "shifts": [[1050, 0.2], [100, 0.1]]`, "cls", "0.3"},
		"shifts not offered":        {`, "types": ["event"]`, "cls", "-"},
		"nobody":                    {all, "inp", "-"},
		"without ids":               {`, "types": ["event"], "durations": [40]`, "inp", "-"},
		"short ones":                {all + `, "interactions": 3`, "inp", "0"},
		"longest":                   {all + durations(49), "inp", "49"},
		"one of 50 is left out":     {all + durations(50), "inp", "49"},
		"two of 100":                {all + durations(100), "inp", "98"},
		"few kept of many":          {all + `, "durations": [30, 20], "interactions": 900`, "inp", "20"},
		"tasks":                     {all + `, "tasks": [[10, 60], [200, 90]]`, "long_task_time", "150"},
		"number of tasks":           {all + `, "tasks": [[10, 60], [200, 90]]`, "long_tasks", "2"},
		"tasks not offered":         {"", "long_tasks", "-"},
		"first byte":                {`, "document": {"first_byte": 12.5, "bytes": 300}`, "ttfb", "12.5"},
		"no navigation":             {"", "ttfb", "-"},
		"paint":                     {`, "lcp": {"time": 640}`, "lcp", "640"},
		"no paint":                  {all, "lcp", "-"},
		"more errors than kept":     {`, "errors": ["a"], "total": {"errors": 7}`, "console_errors", "7"},
		"bytes with the document's": {`, "document": {"bytes": 300}, "resources": [{"bytes": 5}]`, "bytes", "305"},
	} {
		if got := value(t, pageOf(t, tc.page).Claims(nil), tc.value); got != tc.want {
			t.Errorf("%s: %s is %s, want %s", name, tc.value, got, tc.want)
		}
	}
}

// TestHostilePages: no answer of a page makes claims that are unbounded, or cannot be written.
//
// Fault: A page that misuses the side channel of `run --vitals`
func TestHostilePages(t *testing.T) {
	long := strings.Repeat("\u202e\x1b[31m界", 50_000)
	many := func(entry string, n int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(entry+",", n), ",") + "]"
	}
	quoted, _ := json.Marshal(long)
	for name, page := range map[string]string{
		"impossible numbers": `, "lcp": {"time": -1}, "shifts": [[-1, 2], [1, 1e300], [1], []], "tasks": [[1, -5]],
			"durations": [-3, 1e15], "interactions": -9, "document": {"first_byte": -2},
			"timings": [{"name": "a", "at": -1}, {"name": "b", "at": 1, "lasts": -1}], "resources": [{"bytes": -1}]`,
		"nulls": `, "lcp": null, "shifts": [null, [null, null]], "errors": [null], "timings": [null], "total": null,
			"document": null, "types": [null]`,
		"long lists": `, "shifts": ` + many("[1,1]", 9000) + `, "tasks": ` + many("[1,1]", 9000) + `, "errors": ` +
			many(`"e"`, 9000) + `, "timings": ` + many(`{"at": 1}`, 9000) + `, "durations": ` + many("9", 9000) +
			`, "resources": ` + many(`{"host": "h"}`, 9000),
		"long texts": `, "errors": [` + string(quoted) + `], "lcp": {"selector": ` + string(quoted) + `}`,
		"many names": `, "resources": [` + strings.Join(slices.Collect(func(yield func(string) bool) {
			for i := 0; i < 900 && yield(fmt.Sprintf(`{"host": "h%d", "bytes": %d}`, i, i)); i++ {
			}
		}), ",") + `]`,
		"counts": `, "total": {"errors": 1e300, "shifts": -4, "tasks": 1e11}, "interactions": 1e12`,
		"box":    `, "lcp": {"time": 1, "box": [1e300, -1e300, 5, -5]}`,
	} {
		within(t, name, pageOf(t, page))
	}
	for name, text := range map[string]string{
		"nothing": "", "undefined": "undefined", "number": "7", "overflow": `{"width": 1e999}`,
		"no window":   "{}",
		"long number": `{"width": 1, "height": 1, "interactions": ` + strings.Repeat("9", 9000) + `}`,
		"wrong type":  `{"width": 1, "height": 1, "shifts": 5}`, "huge window": `{"width": 1e9, "height": 1}`,
		"too long": `{"width": 1, "height": 1, "x": "` + strings.Repeat("a", maxAnswer) + `"}`,
	} {
		if p, err := Read(text); err == nil || !strings.HasPrefix(err.Error(), "read the page's claims: ") ||
			len(err.Error()) > maxWords {
			t.Errorf("%s: %v, %.400v", name, p, err)
		}
	}
	p := pageOf(t, `, "tasks": [[1, -5], [2, 60]], "types": ["longtask"]`)
	if c := p.Claims(nil); len(c.Result.Warnings) != 1 || value(t, c, "long_tasks") != "1" {
		t.Errorf("what was left out is not counted: %v", c.Result.Warnings)
	}
}

// TestTraffic: the network's requests replace the page's, and lists begin with the most bytes.
func TestTraffic(t *testing.T) {
	p := pageOf(t, `, "document": {"host": "a.test", "bytes": 100}, "resources": [
		{"initiator": "img", "host": "b.test", "bytes": 900}, {"initiator": "script", "host": "a.test", "bytes": 50},
		{"mime": "font/woff2", "initiator": "css", "host": "c.test", "hidden": true}]`)
	c := p.Claims(nil)
	if got := fmt.Sprint(c.ByType, c.ByDomain); got != "[{image 1 900} {document 1 100} {script 1 50} {font 1 0}] "+
		"[{b.test 1 900} {a.test 2 150} {c.test 1 0}]" {
		t.Error(got)
	}
	if v, _ := c.Result.Find("bytes"); !strings.Contains(v.Note, "the sizes of 1 request of other sites are missing") {
		t.Errorf("%q", v.Note)
	}
	c = p.Claims([]Request{{"style", "d.test", 7}})
	if v, _ := c.Result.Find("bytes"); v.Value != 7 || v.Note != FromNetwork || len(c.ByType) != 0 {
		t.Errorf("%+v", v)
	}
	for mime, want := range map[string]string{"text/html; charset=utf-8": "document",
		"application/javascript": "script",
		"text/css":               "style", "font/woff2": "font", "application/font-woff": "font",
		"image/svg+xml":    "image",
		"application/json": "data", "video/mp4": "media", "": "other"} {
		if got := TypeOf(mime); got != want {
			t.Errorf("%q is %s, want %s", mime, got, want)
		}
	}
	for of, want := range map[[3]string]string{{"image/png", "css", "css"}: "image", {"", "css", "woff2"}: "font",
		{"", "css", "PNG"}: "image", {"", "css", ""}: "other", {"", "link", "css"}: "style",
		{"", "link", "js"}: "script",
		{"", "link", "x"}:  "other", {"", "img", "php"}: "image", {"", "xmlhttprequest", ""}: "data",
		{"text/plain", "fetch", "json"}: "other"} {
		if got := typeOfResource(of[0], of[1], of[2]); got != want {
			t.Errorf("%q is %s, want %s", of, got, want)
		}
	}
}
