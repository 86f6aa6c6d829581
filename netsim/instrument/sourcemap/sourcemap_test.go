package sourcemap_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/netsim/ecma"
	"github.com/eideticker/eideticker/netsim/instrument"
	"github.com/eideticker/eideticker/netsim/instrument/sourcemap"
)

const fromNPM = "../../ecma/testdata/node_modules/"

// needed reads a file from npm. Only a laptop may be without.
func needed(t testing.TB, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(fromNPM + path)
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatalf("%v: make webui", err)
	} else if err != nil {
		t.Skipf("%v: make webui", err)
	}
	return text
}

// inNode returns the sources that Node's reader of maps finds.
func inNode(t *testing.T, data []byte, places []sourcemap.Place) (all []sourcemap.Source) {
	t.Helper()
	const program = `const {data, places} = JSON.parse(require('fs').readFileSync(0, 'utf8'));
		const map = new (require('module').SourceMap)(data);
		console.log(JSON.stringify(places.map(p => {
			const e = map.findEntry(p.Line - 1, p.Column - 1);
			if (e.generatedLine !== p.Line - 1 || e.originalSource === undefined) return {File: '', Line: 0, Name: ''};
			const file = e.originalSource.replace(/^.*:\/\/[^\/]*\//, '').replace(/^(\.\.?\/)+/, '');
			return {File: file, Line: e.originalLine + 1, Name: e.generatedColumn === p.Column - 1 && e.name || ''};
		})));`
	input, err := json.Marshal(map[string]any{"data": json.RawMessage(data), "places": places})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "-e", program)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), os.Stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestRealMaps: maps of real programs give the sources that Node finds, also after a shift.
func TestRealMaps(t *testing.T) {
	for program, file := range map[string]string{
		"jquery/dist/jquery.min.js":  "jquery/dist/jquery.min.map",
		"@babel/parser/lib/index.js": "@babel/parser/lib/index.js.map",
	} {
		t.Run(program, func(t *testing.T) {
			src, data := string(needed(t, program)), needed(t, file)
			r, err := instrument.Rewrite(src, ecma.Script, instrument.Plan{Shape: instrument.Time, Nonce: "$nonce"})
			if err != nil {
				t.Fatal(err)
			}
			var before, after []sourcemap.Place
			inserted := map[int][]sourcemap.Insertion{}
			at, line, column, moved := 0, 1, 1, 1 // of the original, in ASCII
			step := func(to uint32) {
				for ; at < int(to); at++ {
					if at%7 == 0 && src[at] != '\n' {
						before = append(before, sourcemap.Place{Line: line, Column: column})
						after = append(after, sourcemap.Place{Line: line, Column: moved})
					}
					if column, moved = column+1, moved+1; src[at] == '\n' {
						line, column, moved = line+1, 1, 1
					}
				}
			}
			sum := uint32(0)
			for _, n := range r.Insertions {
				step(n.At - sum)
				inserted[line] = append(inserted[line], sourcemap.Insertion{Column: column, Length: int(n.Length)})
				moved, sum = moved+int(n.Length), sum+n.Length
			}
			step(uint32(len(src)))
			shifted, err := sourcemap.Shift(data, func(line int) []sourcemap.Insertion { return inserted[line] })
			if err != nil {
				t.Fatal(err)
			}
			want := inNode(t, data, before)
			for name, c := range map[string]struct {
				data   []byte
				places []sourcemap.Place
			}{"original": {data, before}, "shifted": {shifted, after}} {
				got, err := sourcemap.Lookup(c.data, c.places)
				if err != nil {
					t.Fatal(err)
				}
				known, named := 0, 0
				for i := range got {
					got[i].Text = "" // Node has no such value
					if got[i] != want[i] {
						t.Fatalf("%s: place %+v is from %+v, want %+v", name, c.places[i], got[i], want[i])
					}
					if got[i].Line > 0 {
						known++
					}
					if got[i].Name != "" {
						named++
					}
				}
				if known < len(got)/2 || known < 1000 || named < 100 {
					t.Errorf("%s: %d of %d places have a source, %d a name", name, known, len(got), named)
				}
			}
			if again := inNode(t, shifted, after); !reflect.DeepEqual(again, want) {
				t.Error("Node finds other sources in the shifted map")
			}
		})
	}
}

func TestLookup(t *testing.T) {
	places := []sourcemap.Place{{1, 1}, {1, 5}, {1, 9}, {2, 1}, {3, 1}, {9, 9}}
	for _, c := range []struct{ name, data, want string }{
		{"segments", `{"version":3,"sources":["src/App.tsx","b.ts",null],"mappings":"EAAA,IAEA;ACAA,C;AC"}`,
			"error: read a source map: a segment of line 3 has 2 numbers"},
		{"sources", `{"version":3,"sources":["src/App.tsx","b.ts",null],"mappings":"EAWA,IAEA;ACAA;ACAA"}`,
			":0 src/App.tsx:12 src/App.tsx:14 b.ts:14 :0 :0"},
		{"names", `{"sources":["a.ts"],"names":["parse\u0007","sum"],"mappings":"AAAAA,IAAAC,CAAAA;AAAAG"}`,
			"a.ts:1 parse a.ts:1 sum a.ts:1 a.ts:1 :0 :0"},
		{"root", `{"sourceRoot":"webpack://app/./lib","sources":["../x/a.ts?1"],"mappings":"AAAA"}`,
			"x/a.ts:1 x/a.ts:1 x/a.ts:1 :0 :0 :0"},
		{"guard", ")]}'\n" + `{"sources":["webpack:///./src/ä\u0007.js"],"mappings":"AAAA,I"}`,
			"src/ä.js:1 :0 :0 :0 :0 :0"},
		{"sections", `{"sections":[{"offset":{"line":0,"column":4},"map":{"sources":["a"],"mappings":"AAAA"}},` +
			`{"offset":{"line":1,"column":0},"map":{"sources":["b"],"mappings":";ACAA"}}]}`,
			":0 a:1 a:1 :0 :0 :0"},
		{"sections out of order", `{"sections":[{"offset":{"line":3,"column":0},"map":{"sources":["a"],` +
			`"mappings":"AAAA"}},{"offset":{"line":1,"column":0},"map":{"mappings":"A"}}]}`,
			"error: read a source map: its sections are out of order"},
		{"a far section", `{"sections":[{"offset":{"line":99999999999}}]}`,
			"error: read a source map: a section has no valid place"},
		{"back", `{"mappings":"IAAA,DAAA"}`, "error: read a source map: a segment of line 1 is out of order"},
		{"negative line", `{"mappings":"AADA"}`, "error: read a source map: a segment of line 1 is out of order"},
		{"letters", `{"mappings":";A!"}`, "error: read a source map: line 2: unexpected '!'"},
		{"cut", `{"mappings":"g"}`, "error: read a source map: line 1: a number is cut or too large"},
		{"large", `{"mappings":"ggggggggggB"}`, "error: read a source map: line 1: a number is cut or too large"},
		{"many", `{"mappings":"AAAAAA"}`, "error: read a source map: a segment of line 1 has more than 5 numbers"},
		{"text", `x`, "error: read a source map: invalid character 'x' looking for beginning of value"},
	} {
		got, err := sourcemap.Lookup([]byte(c.data), places)
		var all []string
		for _, s := range got {
			all = append(all, strings.TrimSpace(fmt.Sprintf("%s:%d %s", s.File, s.Line, s.Name)))
		}
		text := strings.Join(all, " ")
		if err != nil {
			text = "error: " + err.Error()
		}
		if text != c.want {
			t.Errorf("%s: got %s, want %s", c.name, text, c.want)
		}
	}
	if _, err := sourcemap.Lookup(make([]byte, sourcemap.MaxBytes+1), nil); err == nil {
		t.Error("a map of more than 64 MiB is read")
	}
	if _, err := sourcemap.Lookup([]byte(`{"sourceRoot":"`+strings.Repeat("a", 10_001)+`"}`), nil); err == nil {
		t.Error("a long root is read")
	}
	// A segment does not copy the name of its source.
	long := `{"sources":["` + strings.Repeat("a", 1<<20) + `"],"mappings":"` + strings.Repeat("AAAA,", 1000) + `"}`
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := sourcemap.Lookup([]byte(long), places)
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) >> 20; err != nil || n > 100 {
		t.Errorf("1,000 segments take %d MiB: %v", n, err)
	}
}

// TestNamesInSources: a map without names has those of the source's text, in UTF-16 columns.
// Components of Next.js had the names of minified code, such as u.
func TestNamesInSources(t *testing.T) {
	const text = "/*🙂*/ function SlowList({ tick }) {\r\n" +
		"export default async function* pages() {}\n  const draw = row => row\n  async load() {}\nÄrger = 1"
	for _, c := range []struct {
		name                 string
		line, column         int // from 0
		identifier, function string
	}{
		{"a function's head", 0, 7, "", "SlowList"},
		{"its name", 0, 16, "SlowList", ""},
		{"a blank before it", 0, 6, "", "SlowList"},
		{"an export", 1, 0, "", "pages"},
		{"a variable", 2, 8, "draw", ""},
		{"a declaration", 2, 2, "", ""},
		{"a parameter", 2, 15, "row", ""},
		{"a method", 3, 8, "load", ""},
		{"a letter", 4, 0, "Ärger", ""},
		{"an operator", 2, 13, "", ""},
		{"beyond the line", 3, 99, "", ""},
		{"beyond the text", 9, 0, "", ""},
	} {
		number := func(n int) string { // two digits: 0 to 511
			const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
			return string([]byte{digits[2*n&31|32], digits[2*n>>5]})
		}
		data, err := json.Marshal(map[string]any{"sources": []any{"other.js", "a.js"},
			"sourcesContent": []any{nil, text}, "mappings": "AC" + number(c.line) + number(c.column)})
		if err != nil {
			t.Fatal(err)
		}
		got, err := sourcemap.Lookup(data, []sourcemap.Place{{Line: 1, Column: 1}, {Line: 1, Column: 2}})
		if err != nil || got[0].Rename("u") != cmp.Or(c.identifier, "u") || got[0].Function() != c.function {
			t.Errorf("%s: %+v: %q, function %q, %v", c.name, got[0], got[0].Rename("u"), got[0].Function(), err)
		}
		if kept := got[0].Rename("template"); kept != "template" {
			t.Errorf("%s: template is now %s", c.name, kept)
		}
		if got[0].Line != c.line+1 || got[1].Line != c.line+1 || got[1].Text != "" {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	for _, data := range []string{`{"sources":["a"],"sourcesContent":[7],"mappings":"AAAA"}`,
		`{"sources":["a"],"sourcesContent":{},"mappings":"AAAA"}`,
		`{"sources":["a"],"sourcesContent":["f` + strings.Repeat(`\n`, 5<<20) + `"],"mappings":"AAAA"}`,
		`{"sources":["a","b"],"sourcesContent":["f"],"mappings":"ACAA"}`} {
		got, err := sourcemap.Lookup([]byte(data), []sourcemap.Place{{Line: 1, Column: 1}})
		if err != nil || got[0].Text != "" || got[0].Line != 1 {
			t.Errorf("%.50s: %+v, %v", data, got, err)
		}
	}
}

// TestSourceWords: keywords, modifiers and texts that declare nothing do not become names.
func TestSourceWords(t *testing.T) {
	for text, want := range map[string]string{
		"private run() {": "", "await x": "", "if (x)": "", "import x": "", "null": "", "div>": "", "div class=": "",
		"async\tload() {": "", "draw = 1": "draw", "load(x) {": "load", "Point extends Place {": "Point", "x": "x",
		"#key = 1": "#key", "item of items": "item",
	} {
		data, err := json.Marshal(map[string]any{"sources": []any{"a.js"}, "sourcesContent": []any{text},
			"mappings": "AAAA"})
		if err != nil {
			t.Fatal(err)
		}
		got, err := sourcemap.Lookup(data, []sourcemap.Place{{Line: 1, Column: 1}})
		if err != nil || got[0].Rename("c") != cmp.Or(want, "c") {
			t.Errorf("%s: %q, %v", text, got[0].Rename("c"), err)
		}
	}
}

// TestSourceLines: a source with other ends of lines, and a place in a long line, have no text.
func TestSourceLines(t *testing.T) {
	const segments = "AAAA;AACA" // places 1:1 and 2:1 of the source
	for text, want := range map[string]string{
		"a = 1\nb = 2": "b", "a = 1\r\nb = 2": "b", "a = '\u2028';\nb = 2": "", "a\rb\nc = 2": "",
	} {
		data, err := json.Marshal(map[string]any{"sources": []any{"a.js"}, "sourcesContent": []any{text},
			"mappings": segments})
		if err != nil {
			t.Fatal(err)
		}
		got, err := sourcemap.Lookup(data, []sourcemap.Place{{Line: 2, Column: 1}})
		if err != nil || got[0].Rename("u") != cmp.Or(want, "u") {
			t.Errorf("%q: %q, %v", text, got[0].Rename("u"), err)
		}
	}
	long := strings.Repeat("f(x);", 1000)
	data, err := json.Marshal(map[string]any{"sources": []any{"a.js"}, "sourcesContent": []any{long},
		"mappings": "AAA" + "gjB"}) // column 560
	if err == nil {
		var got []sourcemap.Source
		if got, err = sourcemap.Lookup(data, []sourcemap.Place{{Line: 1, Column: 1}}); err == nil && got[0].Text == "" {
			t.Errorf("column 560 has no text")
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	data = []byte(strings.Replace(string(data), "AAAgjB", "AAAg+D", 1)) // column 2000
	if got, err := sourcemap.Lookup(data, []sourcemap.Place{{Line: 1, Column: 1}}); err != nil || got[0].Text != "" {
		t.Errorf("column 2000: %.20q, %v", got[0].Text, err)
	}
}

// FuzzMaps: a map without insertions keeps its sources. Insertions move them.
func FuzzMaps(f *testing.F) {
	for _, mappings := range []string{"EAWA,IAEA;ACAA", "AAAAA,C;;;gBAAgB", "A,A;D", "gggggE"} {
		f.Add(mappings, 1, 4)
	}
	f.Fuzz(func(t *testing.T, mappings string, column, length int) {
		data, err := json.Marshal(map[string]any{"sources": []string{"a", "b"}, "mappings": mappings, "x": 1})
		if err != nil || column < 1 || column > 1000 || length < 0 || length > 1000 {
			return
		}
		var places, moved []sourcemap.Place
		for line := range 5 {
			for c := range 60 {
				p := sourcemap.Place{Line: line + 1, Column: c + 1}
				places = append(places, p)
				if p.Column >= column {
					p.Column += length
				}
				moved = append(moved, p)
			}
		}
		want, err := sourcemap.Lookup(data, places)
		shifted, shiftErr := sourcemap.Shift(data, func(int) []sourcemap.Insertion {
			return []sourcemap.Insertion{{Column: column, Length: length}}
		})
		if (err == nil) != (shiftErr == nil) {
			t.Fatalf("%q: read: %v, shift: %v", mappings, err, shiftErr)
		}
		if err != nil {
			return
		}
		got, err := sourcemap.Lookup(shifted, moved)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v\ngot  %v\nwant %v", mappings, err, got, want)
		}
	})
}
