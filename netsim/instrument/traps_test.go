package instrument_test

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/netsim/ecma"
	"github.com/eideticker/eideticker/netsim/instrument"
	pageruntime "github.com/eideticker/eideticker/netsim/instrument/runtime"
)

const nonce = "$n0"

// trap is a program whose behaviour must not change.
type trap struct {
	name, src string
	goal      ecma.Goal
	open      bool // an exception leaves all functions, so frames stay open
}

var trapHead = regexp.MustCompile(`(?m)^-- (.+?)(?: \((module|open|module, open)\))? --\n`)

// traps reads testdata/traps.txt.
func traps(t testing.TB) []trap {
	all := trapsOf(t, "testdata/traps.txt")
	if len(all) < 50 {
		t.Fatalf("testdata/traps.txt has %d traps", len(all))
	}
	return all
}

// trapsAndPoints adds those of testdata/points.txt.
func trapsAndPoints(t testing.TB) []trap {
	return append(traps(t), trapsOf(t, "testdata/points.txt")...)
}

func trapsOf(t testing.TB, file string) (all []trap) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	heads := trapHead.FindAllSubmatchIndex(text, -1)
	for i, h := range heads {
		end := len(text)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		c := trap{name: string(text[h[2]:h[3]]), src: string(text[h[1]:end])}
		if h[4] >= 0 {
			kind := string(text[h[4]:h[5]])
			if c.open = strings.HasSuffix(kind, "open"); strings.HasPrefix(kind, "module") {
				c.goal = ecma.Module
			}
		}
		all = append(all, c)
	}
	return all
}

// run is a program for a script of testdata.
type run struct {
	Text    string `json:"text"`
	Module  bool   `json:"module"`
	Runtime string `json:"runtime"`
	Nonce   string `json:"nonce"`
}

// behaviour is all that a program shows.
type behaviour struct {
	Log []string `json:"log"`
	End string   `json:"end"`
}

type ran struct {
	behaviour
	Problems []string       `json:"problems"`
	Calls    map[string]int `json:"calls"`
	Open     []int          `json:"open"`
}

// testRuntime returns the functions that insertions call.
func testRuntime(t *testing.T) string {
	code, err := os.ReadFile("testdata/runtime.js")
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(code), "NONCE", nonce)
}

// inNode passes programs to a script of testdata.
func inNode[T any](t *testing.T, script string, runs []run) (all []T) {
	t.Helper()
	node(t, runs, &all, "--no-warnings", "--experimental-vm-modules", "testdata/"+script)
	if len(all) != len(runs) {
		t.Fatalf("%d results of %d", len(all), len(runs))
	}
	return all
}

// TestTraps runs each program plain and rewritten. Output, exception and completion value must be
// equal.
func TestTraps(t *testing.T) {
	runtime := testRuntime(t)
	all := traps(t)
	var runs []run
	for _, c := range all {
		add := func(text string) {
			runs = append(runs, run{text, c.goal == ecma.Module, runtime, nonce})
		}
		add(c.src)
		for _, shape := range []instrument.Shape{instrument.Time, instrument.Count} {
			r, err := instrument.Rewrite(c.src, c.goal, planOf(shape, nonce))
			if err == nil {
				err = r.Verify(c.src, c.goal)
			}
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			add(r.Text)
		}
		for gate := instrument.Slow; gate <= instrument.Unmeasured; gate++ {
			r, err := instrument.Rewrite(c.src, c.goal, instrument.Plan{Shape: instrument.Time, Nonce: nonce,
				Gate: func(uint32) instrument.Gate { return gate }})
			if err == nil {
				err = r.Verify(c.src, c.goal)
			}
			if err != nil {
				t.Errorf("%s, gate %d: %v", c.name, gate, err)
			}
			// Without a prelude, gates are closed.
			closed := "globalThis.self=globalThis;" + pageruntime.Guard(nonce) + "self.report" + nonce + "=()=>({});"
			runs = append(runs, run{r.Text, c.goal == ecma.Module, closed, nonce})
		}
		plan := planOf(instrument.Time, nonce)
		plan.Outside = outsideOf(c.goal)
		r, err := instrument.Rewrite(c.src, c.goal, plan)
		if err == nil {
			err = r.Verify(c.src, c.goal)
		}
		if err != nil {
			t.Errorf("%s, code outside functions: %v", c.name, err)
		}
		add(r.Text)
	}
	results := inNode[ran](t, "run.mjs", runs)
	for i, c := range all {
		t.Run(c.name, func(t *testing.T) {
			const each = 8
			all, texts := results[each*i:], runs[each*i:]
			plain, timed, counted := all[0], all[1], all[2]
			whole := all[each-1]
			if strings.HasSuffix(c.name, "for await") {
				whole.Problems = nil // its call is on the stack when the script ends
			}
			if !reflect.DeepEqual(plain.behaviour, whole.behaviour) || len(whole.Problems) > 0 ||
				len(whole.Open) > 0 && !strings.HasPrefix(plain.End, "throws ") {
				t.Errorf("plain %+v\nwith code outside functions %+v\n%s", plain.behaviour, whole, texts[each-1].Text)
			}
			for k := 3; k < each-1; k++ {
				if !reflect.DeepEqual(plain.behaviour, all[k].behaviour) {
					t.Errorf("plain %+v\ngated %+v\n%s", plain.behaviour, all[k].behaviour, texts[k].Text)
				}
			}
			if len(plain.Log) == 0 && !strings.HasPrefix(plain.End, "value ") ||
				strings.HasPrefix(plain.End, "throws SyntaxError") {
				t.Fatalf("the plain program does not run: %+v", plain)
			}
			for shape, r := range map[string]ran{"timed": timed, "counted": counted} {
				if !reflect.DeepEqual(plain.behaviour, r.behaviour) {
					t.Errorf("plain %+v\n%s %+v\n%s", plain.behaviour, shape, r.behaviour, texts[1].Text)
				}
			}
			// The depth at which the stack overflows differs.
			if len(timed.Calls) == 0 ||
				!reflect.DeepEqual(timed.Calls, counted.Calls) && c.name != "overflow of the stack" {
				t.Errorf("calls timed %v, counted %v", timed.Calls, counted.Calls)
			}
			if len(timed.Open) > 0 != c.open {
				t.Errorf("frames are open at the end: %v\n%s", timed.Open, texts[1].Text)
			}
			for _, p := range timed.Problems {
				t.Errorf("%s\n%s", p, texts[1].Text)
			}
		})
	}
}
