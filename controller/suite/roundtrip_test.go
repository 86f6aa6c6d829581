package suite

import (
	"encoding/json"
	"io/fs"
	"reflect"
	"strings"
	"testing"
)

// same compares tests without their places in files.
func same(a, b *Test) bool {
	x, y := *a, *b
	x.Steps, y.Steps = unlined(x.Steps), unlined(y.Steps)
	x.File, y.File, x.Text, y.Text, x.Dir, y.Dir = "", "", nil, nil, nil, nil
	return reflect.DeepEqual(x, y)
}

func unlined(steps []Step) (all []Step) {
	for _, s := range steps {
		s.Line = 0
		switch a := s.Action.(type) {
		case Loop:
			a.Steps = unlined(a.Steps)
			s.Action = a
		case Ping:
			a.Do.Line = 0
			s.Action = a
		}
		all = append(all, s)
	}
	return all
}

// checkAgain writes a test, and expects to read the same.
func checkAgain(t *testing.T, first *Test) {
	t.Helper()
	text, err := json.Marshal(first)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > MaxFile {
		return // quotes make it longer
	}
	again, err := Parse("again.yaml", text, Known{})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if !same(first, again) {
		t.Fatalf("%+v\nis written as\n%s\nwhich reads as\n%+v", first, text, again)
	}
}

func TestEverythingIsWrittenAndReadAgain(t *testing.T) {
	first, err := Parse("everything.yaml", []byte(everything), Known{})
	if err != nil {
		t.Fatal(err)
	}
	checkAgain(t, first)
	used := map[string]bool{}
	for _, v := range verbs() {
		used[v.name] = strings.Contains(everything, " "+v.name+":")
	}
	for name, is := range used {
		if !is {
			t.Errorf("no step is %s", name)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(everything)
	for _, tc := range bad {
		f.Add(tc.file)
	}
	for _, s := range []string{
		"a: &x [*x]\n", "- a\n---\n- b\n", "? [a]\n: b\n", "{a: b, c}\n", "a: \"\\ud800\"\n", "%YAML 1.1\n---\na: b\n",
		"\ufeffname: a\nurl: about:blank\nend: 3s\n",
	} {
		f.Add(s)
	}
	entries, err := fs.ReadDir(standard, "standard")
	if err != nil {
		f.Fatal(err)
	}
	for _, e := range entries {
		text, err := fs.ReadFile(standard, "standard/"+e.Name())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, s string) {
		first, err := Parse("fuzz.yaml", []byte(s), Known{})
		for _, one := range Parts(err) {
			e, ok := one.(*Error)
			if !ok || e.Problem == "" || e.File != "fuzz.yaml" ||
				e.Line > strings.Count(s, "\n")+strings.Count(s, "\r")+1 {
				t.Fatalf("%q: %#v", s, one)
			}
		}
		if err == nil {
			checkAgain(t, first)
		}
	})
}
