package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
)

var update = flag.Bool("update", false, "write golden files")

const golden = "testdata/results.golden.json"

func TestGolden(t *testing.T) {
	b := analyzetest.Must(Encode(sample()))(t)
	var pretty bytes.Buffer
	analyzetest.Check(t, json.Indent(&pretty, b, "", " "))
	if *update {
		analyzetest.Check(t, os.WriteFile(golden, pretty.Bytes(), 0o644))
	}
	want := analyzetest.Must(os.ReadFile(golden))(t)
	if !bytes.Equal(pretty.Bytes(), want) {
		t.Errorf("results.json changed. A changed or removed field needs another Version; "+
			"an added one goes with -update. Now it is\n%s", pretty.Bytes())
	}
	got := analyzetest.Must(Read(golden))(t)
	again := analyzetest.Must(Encode(got))(t)
	if !bytes.Equal(again, b) {
		t.Errorf("read and written again it is\n%s\nwant\n%s", again, b)
	}
}

// TestSampleIsComplete makes sure that the golden file shows every field.
func TestSampleIsComplete(t *testing.T) {
	seen := map[string]bool{}
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer:
			if !v.IsNil() {
				walk(v.Elem())
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		case reflect.Struct:
			for i := range v.NumField() {
				name := v.Type().Name() + "." + v.Type().Field(i).Name
				seen[name] = seen[name] || !v.Field(i).IsZero()
				walk(v.Field(i))
			}
		}
	}
	walk(reflect.ValueOf(sample()))
	for name, filled := range seen {
		// the sample has window 0 only
		if !filled && !slices.Contains([]string{"Result.Heat", "LateFrame.Window", "ProfileLate.Window",
			"ProfileClaims.Window"}, name) {
			t.Errorf("%s has no value in the sample", name)
		}
	}
}

// TestDocument holds RESULTS.md against the structs: a section each, with a row for each field, in
// order.
func TestDocument(t *testing.T) {
	doc := analyzetest.Must(os.ReadFile("RESULTS.md"))(t)
	sections := documented(string(doc))
	structs := map[string]reflect.Type{}
	collect(reflect.TypeFor[Results](), structs)
	for name, typ := range structs {
		if got, want := sections[name], fieldNames(typ); !reflect.DeepEqual(got, want) {
			t.Errorf("section %s has rows for %q, the struct has %q", name, got, want)
		}
		delete(sections, name)
	}
	if got := sections["Environment"]; !reflect.DeepEqual(got, EnvironmentKeys()) {
		t.Errorf("section Environment has %q, EnvironmentKeys returns %q", got, EnvironmentKeys())
	}
	delete(sections, "Environment")
	for name := range sections {
		t.Errorf("section %s documents nothing", name)
	}
}

// documented returns the first column of each section's table.
func documented(doc string) map[string][]string {
	sections := map[string][]string{}
	name := ""
	for line := range strings.Lines(doc) {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			name = strings.TrimSpace(heading)
			sections[name] = nil
		}
		if row, ok := strings.CutPrefix(line, "| `"); ok {
			field, _, _ := strings.Cut(row, "`")
			sections[name] = append(sections[name], field)
		}
	}
	return sections
}

// collect finds the structs that a type is made of.
func collect(t reflect.Type, into map[string]reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		collect(t.Elem(), into)
	case reflect.Struct:
		if into[t.Name()] != nil { // a tree has itself
			return
		}
		into[t.Name()] = t
		for i := range t.NumField() {
			if t.Field(i).Tag.Get("json") != "-" {
				collect(t.Field(i).Type, into)
			}
		}
	}
}

func fieldNames(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "-" {
			names = append(names, name)
		}
	}
	return names
}

func TestWriteAndRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	r := &Results{Quality: analyze.Result{Measure: "quality", State: analyze.Exact}}
	analyzetest.Check(t, Write(path, r))
	if r.Windows != nil || r.Schema != "" {
		t.Error("Write changed what it was given")
	}
	b := analyzetest.Must(os.ReadFile(path))(t)
	if bytes.Contains(b, []byte("null")) {
		t.Errorf("a list is null: %s", b)
	}
	if _, err := Read(path); err != nil {
		t.Error(err)
	}
	if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 1 {
		t.Errorf("%d files are left", len(files))
	}
	if _, err := Read(filepath.Join(t.TempDir(), "no")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// Fault: Results have another version of the schema
func TestDecodeRefuses(t *testing.T) {
	valid := analyzetest.Must(Encode(sample()))(t)
	change := func(old, new string) string { return strings.Replace(string(valid), old, new, 1) }
	for _, tc := range []struct{ name, in, want string }{
		{"nothing", "", "the file is cut off"},
		{"no object", "7", "cannot unmarshal"},
		{"another file", `{"schema_version":3}`, "is this a results.json?"},
		{"another version", change(`"version":1`, `"version":2`),
			"version 2, this program reads 1; analyze the recording again"},
		{"cut", string(valid[:len(valid)/2]), "the file is cut off"},
		{"more behind it", string(valid) + "{}", "after top-level value"},
		{"too deep", strings.Repeat("[", 100), "32 levels"},
		{"many structs", `{"windows":[` + strings.Repeat("null,", maxThings+1), "200000 objects"},
		{"no end of a string", `{"a":"\`, "the file is cut off"},
		{"infinite", change(`"value":59.9`, `"value":1e999`), "1e999"},
		{"bounds", change(`"low":58`, `"low":59.95`), "59.9 is not between 59.95 and 60.1"},
		{"no such frame", change(`"red_frame":106`, `"red_frame":300`), "red_frame is 300"},
		{"frames of a value", change(`[101,104]`, `[101,300]`), "frames[1] is 300, and there are 300 frames"},
		{"lists of two lengths", change(`[16.7,33.4]`, `[16.7]`), "2 frames and 1 values"},
		{"series not ascending", change(`[101,102]`, `[102,102]`), "frame 102 stands behind 102"},
		{"times not in order", change(`[-16683350,0,`, `[1,0,`), "not in order"},
		{"frames overflow", change(`"first_frame":100`, `"first_frame":9223372036854775807`), "3 frames from"},
		{"state", change(`"bounded"`, `"sure"`), `state is "sure"`},
		{"region", change(`[1,2,3,4]`, `[1,2,3]`), "want x, y, width, height"},
		{"tolerance", change(`"tolerance":2,"min_pixels":5,"noise"`, `"tolerance":256,"min_pixels":5,"noise"`),
			"windows[0]: tolerance is 256"},
		{"mask", change(`[0,0,768,8]`, `[0,0,768]`), "want x, y, width, height"},
		{"lines of tiles", change(`[2,1,0,2]`, `[2,1,0]`), "windows[0] noise: 3 tiles in 2 columns"},
		{"tile", change(`[2,1,0,2]`, `[2,1,0,-2]`), "tiles[3] is -2, want 0 to 255"},
		{"false rate", change(`"false_rate":0.0001`, `"false_rate":2`), "false_rate is 2"},
		{"link up", change(`"video.mp4"`, `"../video.mp4"`), "not the name of a file in the run folder"},
		{"link to a host", change(`"video.mp4"`, `"//example.org/video.mp4"`), "not the name of a file"},
		{"link with a scheme", change(`"video.mp4"`, `"javascript:alert(1)"`), "not the name of a file"},
		{"link on another system", change(`"video.mp4"`, `"..\\video.mp4"`), "not the name of a file"},
		{"kind", change(`"kind":"markers"`, `"kind":"guess"`), `kind is "guess"`},
		{"requests", change(`"requests":12`, `"requests":0`), "network: 1 of 0 requests are listed"},
		{"loss", change(`"loss_fraction":0.011`, `"loss_fraction":1.1`), "network: loss_fraction is 1.1"},
		{"bytes", change(`"bytes_up":12345`, `"bytes_up":-1`), "network: bytes_up is -1"},
		{"link to a HAR file", change(`"network.har"`, `"/etc/passwd"`), "not the name of a file"},
		{"part of a request", change(`"tls_ns":301000000`, `"tls_ns":-2`), "network list[0]: tls_ns is -2"},
		{"status", change(`"status":200`, `"status":1000`), "status is 1000"},
		{"long address", change(`http://page.test/load.html`, strings.Repeat("x", maxText+1)), "8001 bytes"},
		{"script span", change(`"value":40200000`, `"value":50200000`),
			"script functions[0]: self_ns of 5.02e+07 is not between"},
		{"script span below 0", change(`"low":1900000`, `"low":-1`), "script late[0]: unexplained_ns"},
		{"script span without end", change(`"high":2800000`, `"high":1e300`),
			"unexplained_ns of 2.37e+06 is not between"},
		{"script line", change(`"line":20`, `"line":-20`), "script errors[0]: line is -20"},
		{"script calls", change(`"calls":1200`, `"calls":-1`), "functions[1]: calls is -1"},
		{"script task's function", change(`"function":-1`, `"function":2`), "tasks[1]: function is 2, and there are 2"},
		{"script task's realm", change(`"realm":1,"calls"`, `"realm":2,"calls"`),
			"tasks[1]: realm is 2, and there are 2"},
		{"script gap's realm", change(`full","realm":1`, `full","realm":2`), "gaps[0]: realm is 2, and there are 2"},
		{"script task ends early", change(`"end_ns":1049000000`, `"end_ns":1`), "tasks[0]: it lasts from"},
		{"script tasks not in order", change(`"begin_ns":1020000000`, `"begin_ns":1`), "tasks[1] begins before"},
		{"script time overflows", change(`"at_ns":1030000000`, `"at_ns":9223372036854775807`), "errors[0]: it lasts"},
		{"script error's kind", change(`"kind":"error"`, `"kind":"oops"`), `kind is "oops"`},
		{"script error's frame", change(`"count":2,"frame":104`, `"count":2,"frame":300`), "frame is 300"},
		{"script late window", change(`"late":[{"window":0`, `"late":[{"window":1`), "late[0]: window is 1"},
		{"script late function", change(`"functions":[{"function":0`, `"functions":[{"function":2`), "function is 2"},
		{"script programs", change(`"instrumented":38`, `"instrumented":42`), "script programs: 42 of 41"},
		{"script bytes", change(`"covered_bytes":870000`, `"covered_bytes":900001`), "900001 of 900000 bytes"},
		{"script functions", change(`"functions_called":412`, `"functions_called":1932`), "1932 of 1931"},
		{"script realm", change(`"kind":"worker"`, `"kind":"moon"`), `realms[1]: kind is "moon"`},
		{"script gap", change(`"from_ns":1070000000`, `"from_ns":1090000000`), "gaps[0]: it lasts"},
		{"active points", change(`"active":40`, `"active":1201`), "1201 active or 3 slow of 1200 points"},
		{"share", change(`"share":0.61`, `"share":1.61`), "share is 1.61, want 0 to 1"},
		{"script log", change(`"script.log"`, `"../script.log"`), "not the name of a file"},
		{"script policies", change(`["calls","errors"]`, `[`+strings.Repeat(`"calls",`, 20)+`"errors"]`),
			"21 policies, at most 20"},
		{"script lost", change(`"lost":1234,"gaps"`, `"lost":-1,"gaps"`), "script: lost is -1"},
		{"long name", change(`"canvas.eid"`, `"`+strings.Repeat("x", 301)+`"`), "301 bytes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Decode(strings.NewReader(tc.in))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if errors.Is(err, ErrVersion) != (tc.name == "another version") {
				t.Errorf("ErrVersion or not: %v", err)
			}
		})
	}
}

func TestDecodeBoundsSize(t *testing.T) {
	if _, err := Decode(endless{}); err == nil || !strings.Contains(err.Error(), "over 128 MiB") {
		t.Errorf("got %v", err)
	}
}

// endless is a reader of spaces.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestDecodeSkipsUnknownFields(t *testing.T) {
	b := analyzetest.Must(Encode(sample()))(t)
	b = bytes.Replace(b, []byte(`{"schema"`), []byte(`{"later":[{"a \" }":null}],"schema"`), 1)
	if _, err := Decode(bytes.NewReader(b)); err != nil {
		t.Error(err)
	}
}

func TestWriteRefusesWhatIsNotFinite(t *testing.T) {
	r := sample()
	r.Windows[0].Results[0].Values[0].High = math.Inf(1)
	if err := Write(filepath.Join(t.TempDir(), FileName), r); err == nil ||
		!strings.Contains(err.Error(), "windows[0] results[0] values[0]: high is +Inf") {
		t.Errorf("got %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	b := analyzetest.Must(Encode(sample()))(f)
	f.Add(b)
	f.Add([]byte(`{"schema":"eideticker.results","version":1,"quality":{"measure":"quality","state":"exact"}}`))
	f.Add([]byte(`{"schema":"eideticker.results","version":2}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		r, err := Decode(bytes.NewReader(in))
		if err != nil {
			return
		}
		once, err := Encode(r)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		again, err := Decode(bytes.NewReader(once))
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if twice, err := Encode(again); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%v\n%s\n%s", err, once, twice)
		}
	})
}

// TestBoundsSkipStrings: braces and quotes within strings are not structure.
func TestBoundsSkipStrings(t *testing.T) {
	for _, text := range []string{`""`, `"}`, `\`, `a\"b`, `\\"`, `""{{"`, `{"name":""}`, strings.Repeat(`"`, 101)} {
		b := analyzetest.Must(json.Marshal([]any{text, map[string]string{text: text}}))(t)
		if err := bounded(b); err != nil {
			t.Errorf("%s: %v", b, err)
		}
		if err := bounded(b[:len(b)-3]); err == nil {
			t.Errorf("%s is cut within a string", b)
		}
	}
}
