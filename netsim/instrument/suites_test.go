package instrument_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/netsim/ecma"
	"github.com/eideticker/eideticker/netsim/instrument"
	"github.com/eideticker/eideticker/netsim/instrument/policy"
	pageruntime "github.com/eideticker/eideticker/netsim/instrument/runtime"
)

const suites = "testdata/suites/"

// suite is a library with a test suite of its own.
type suite struct {
	name, root string // root is a folder of the library and its suite
	tests      int    // at least
	// differ are tests that may end in another way, with the reason. Pages patch Function.toString.
	differ map[string]string
}

// soakSuites are in Debian's source packages.
var soakSuites = []suite{
	{"lodash", "out/suites/lodash-4.17.21", 1600, nil},
	{"acorn", "out/suites/acorn-8.8.1", 6400, map[string]string{
		"595 function TestComments() {":  "it parses its own text",
		"3849 function TestComments() {": "it parses its own text",
	}},
}

// files returns the programs of the library and its suite, rewritten, by absolute path. Other
// libraries stay as they are.
func (s suite) files(t testing.TB, root string) map[string]string {
	t.Helper()
	texts, first := map[string]string{}, uint32(1)
	add := func(path string) {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		r, err := instrument.Rewrite(string(src), ecma.Script, instrument.Plan{Shape: instrument.Time, Nonce: nonce,
			First: first})
		if err != nil {
			t.Logf("%s runs plain: %v", strings.TrimPrefix(path, root), err)
			return
		}
		texts[path], first = r.Text, first+uint32(len(r.Functions))
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{"node_modules", "dist", "min", "src", "perf"}, d.Name()):
			return fs.SkipDir
		case !d.IsDir() && strings.HasSuffix(path, ".js"):
			add(path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if s.name == "acorn" { // its suite tests the bundle of npm
		for _, name := range []string{"acorn", "acorn-loose"} {
			path, err := filepath.Abs(suites + "node_modules/" + name + "/dist/" + name + ".js")
			if err != nil {
				t.Fatal(err)
			}
			add(path)
		}
	}
	return texts
}

// suitesHere returns the suites from npm, and with EIDETICKER_SOAK those from Debian.
func suitesHere() []suite {
	all := []suite{{"qs", suites + "node_modules/qs", 700, nil}, {"numeral", suites + "node_modules/numeral", 150, nil}}
	if soak {
		for _, s := range soakSuites {
			s.root = "../../" + s.root
			all = append(all, s)
		}
	}
	return all
}

// suiteRuns are the results of a suite, by name and in order.
type suiteRuns struct {
	plain, timed [][2]any
	files        int // that are rewritten
}

// run runs a suite plain and with every function timed.
func (s suite) run(t testing.TB) (r suiteRuns) {
	t.Helper()
	calls, err := policy.Named("calls")
	if err != nil {
		t.Fatal(err)
	}
	fromFile(t, s.root+"/package.json")
	root, err := filepath.Abs(s.root)
	if err != nil {
		t.Fatal(err)
	}
	texts := s.files(t, root)
	before := pageruntime.Prelude(pageruntime.Options{Nonce: nonce, Collector: "http://rig.test/.eideticker/x/",
		Policies: []pageruntime.Policy{{Name: "calls", Text: calls[0].Runtime}}})
	in := map[string]any{"suite": s.name, "root": root, "texts": map[string]string{}, "before": ""}
	node(t, in, &r.plain, suites+"suite.cjs")
	in["texts"], in["before"], r.files = texts, before, len(texts)
	node(t, in, &r.timed, suites+"suite.cjs")
	return r
}

// TestSuites: test suites of libraries end with the same results if every function is timed. The
// functions of the suites are timed too.
func TestSuites(t *testing.T) {
	for _, s := range suitesHere() {
		t.Run(s.name, func(t *testing.T) {
			r := s.run(t)
			plain, timed := r.plain, r.timed
			left := slices.Clone(timed)
			different, failed := 0, 0
			for _, p := range plain {
				if p[1] != true {
					failed++
				}
				if i := slices.Index(left, p); i >= 0 {
					left = slices.Delete(left, i, i+1)
					continue
				}
				different++
				if reason := s.differ[fmt.Sprint(p[0])]; reason != "" {
					t.Logf("different, since %s: %v", reason, p)
				} else {
					t.Errorf("plain %v; timed it differs", p)
				}
			}
			for _, o := range left[max(0, len(left)-different):] {
				t.Logf("timed only: %v", o)
			}
			t.Logf("%s: %d files rewritten; %d tests, %d differ, %d fail in both", s.name, r.files, len(plain),
				different, failed)
			if len(plain) < s.tests || len(timed) != len(plain) || r.files < 2 {
				t.Errorf("%d tests plain and %d timed, want %d; %d files", len(plain), len(timed), s.tests, r.files)
			}
		})
	}
}

// textsInParserTests are programs that show their text.
var textsInParserTests = map[string]string{
	"/* header */ (function(){ var a = 1; }).b(this)":                       "the callee in V8's message",
	"(function(){ var a = 1; /* sync */ }).b(this)":                         "the callee in V8's message",
	"`outer${{a: {b: 1}}}bar${`nested${function(){return 2;}}endnest`}end`": "a function",
}

// endless matches loops without a condition.
var endless = regexp.MustCompile(`while\s*\((true|1)\)|for\s*\([^;()]*;[^;()]*;\s*\)`)

// TestParserTestsRun: the valid programs of test262-parser-tests behave as the plain ones if every
// function is timed: output, exception and completion value. Endless programs do not run. Without
// EIDETICKER_SOAK, a share of the others runs.
func TestParserTestsRun(t *testing.T) {
	tests, err := filepath.Glob(fromNPM + "test262-parser-tests/pass/*.js")
	if err != nil {
		t.Fatal(err)
	}
	every := 8
	if soak {
		every = 1
	}
	var runs []run
	var ran262 []string
	code := testRuntime(t)
	for i := 0; i < len(tests); i += every {
		src, goal := fromFile(t, tests[i]), ecma.Script
		if endless.MatchString(src) {
			continue
		}
		if strings.HasSuffix(tests[i], ".module.js") {
			goal = ecma.Module
		}
		r, err := instrument.Rewrite(src, goal, instrument.Plan{Shape: instrument.Time, Nonce: nonce})
		if err != nil {
			t.Errorf("%s: %v", tests[i], err)
		}
		for _, text := range []string{src, r.Text} {
			runs = append(runs, run{text, goal == ecma.Module, code, nonce})
		}
		ran262 = append(ran262, src)
	}
	results := inNode[ran](t, "run.mjs", runs)
	ended, different := 0, 0
	for i, src := range ran262 {
		plain, timed := results[2*i], results[2*i+1]
		if strings.HasPrefix(plain.End, "value ") {
			ended++
		}
		if !reflect.DeepEqual(plain.behaviour, timed.behaviour) || len(timed.Problems) > 0 {
			different++
			if reason := textsInParserTests[src]; reason != "" && len(timed.Problems) == 0 {
				t.Logf("different, since it shows %s: %q", reason, src)
				continue
			}
			t.Errorf("%.200q\nplain %+v\ntimed %+v", src, plain.behaviour, timed)
		}
	}
	t.Logf("%d programs, %d end with a value; %d differ", len(ran262), ended, different)
	if ended < len(ran262)/2 {
		t.Errorf("only %d of %d programs end with a value", ended, len(ran262))
	}
}
