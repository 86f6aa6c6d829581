package instrument_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/netsim/ecma"
	"github.com/eideticker/eideticker/netsim/instrument"
	"github.com/eideticker/eideticker/netsim/instrument/policy"
	pageruntime "github.com/eideticker/eideticker/netsim/instrument/runtime"
)

// everything returns two equal policies that want every shape at every node. Its functions return
// their second arguments.
func everything() (all []policy.Policy, runtime string) {
	var kinds []ecma.Kind
	for k := ecma.EmptyStatement; k <= ecma.ExportAllDeclaration; k++ {
		kinds = append(kinds, k)
	}
	functions := []ecma.Kind{ecma.FunctionDeclaration, ecma.FunctionExpression, ecma.ArrowFunctionExpression}
	for _, name := range []string{"pa", "pb"} {
		p := policy.Policy{About: policy.About{Name: name}, Points: []policy.Points{
			{Kinds: kinds, Edit: policy.Head, Call: name + "h"}, {Kinds: kinds, Edit: policy.Loop, Call: name + "l"},
			{Kinds: kinds, Edit: policy.Around, Call: name + "a"}, {Kinds: kinds, Edit: policy.Right, Call: name + "r"},
			{Kinds: kinds, Edit: policy.Store, Call: name + "s"},
			{Kinds: functions, Edit: policy.Frame, Call: name + "f"},
		}}
		all = append(all, p)
		for _, call := range p.Calls() {
			runtime += fmt.Sprintf("Object.defineProperty(globalThis, '%s%s', {value: (id, x) => x});\n", call, nonce)
		}
	}
	return all, runtime
}

// named returns policies of the list.
func named(t testing.TB, names string) ([]policy.Policy, string) {
	t.Helper()
	all, err := policy.Named(names)
	if err != nil {
		t.Fatal(err)
	}
	runtime := ""
	for _, p := range all {
		for _, call := range p.Calls() {
			runtime += fmt.Sprintf("Object.defineProperty(globalThis, '%s%s', {value: (id, x) => x});\n", call, nonce)
		}
	}
	return all, runtime
}

func allNames() string {
	var names []string
	for _, a := range policy.List() {
		names = append(names, a.Name)
	}
	return strings.Join(names, ",")
}

// TestTrapsOfPoints runs programs with insertions at every place at which one is possible, and with
// all policies. Their behaviour must be that of the plain programs.
func TestTrapsOfPoints(t *testing.T) {
	every, everyRuntime := everything()
	listed, listedRuntime := named(t, allNames())
	all := trapsAndPoints(t)
	var runs []run
	for _, c := range all {
		runtime := testRuntime(t)
		runs = append(runs, run{c.src, c.goal == ecma.Module, runtime, nonce})
		for _, plan := range []instrument.Plan{{Shape: instrument.Time, Nonce: nonce, Policies: every},
			{Shape: instrument.Count, Nonce: nonce, Policies: every},
			{Shape: instrument.Time, Nonce: nonce, Policies: listed}} {
			r, err := instrument.Rewrite(c.src, c.goal, plan)
			if err == nil {
				err = r.Verify(c.src, c.goal)
			}
			if err != nil {
				t.Errorf("%s: %v\n%s", c.name, err, r.Text)
			}
			runs = append(runs, run{r.Text, c.goal == ecma.Module, runtime + everyRuntime + listedRuntime, nonce})
		}
	}
	results := inNode[ran](t, "run.mjs", runs)
	for i, c := range all {
		plain := results[4*i]
		if strings.HasPrefix(plain.End, "throws SyntaxError") {
			t.Errorf("%s: the plain program does not run: %+v", c.name, plain)
		}
		for k, r := range results[4*i+1 : 4*i+4] {
			if !reflect.DeepEqual(plain.behaviour, r.behaviour) || len(r.Problems) > 0 {
				t.Errorf("%s: plain %+v\nplan %d %+v %v\n%s", c.name, plain.behaviour, k, r.behaviour, r.Problems,
					runs[4*i+1+k].Text)
			}
		}
	}
}

// TestGatesOfPoints runs programs with gates, policies and replacements that never run. Their
// behaviour must be that of the plain programs.
func TestGatesOfPoints(t *testing.T) {
	every, everyRuntime := everything()
	replace := policy.Policy{About: policy.About{Name: "ab"}, Points: []policy.Points{{
		Kinds: []ecma.Kind{ecma.FunctionDeclaration, ecma.FunctionExpression, ecma.ArrowFunctionExpression},
		Select: func(t *ecma.Tree, node int) bool {
			return t.Nodes[node].Flags&(ecma.Async|ecma.Generator) == 0 && !strings.Contains(t.Text(node), "super")
		}, Edit: policy.Replace, Call: "ab", Text: "(()=>0)"}}}
	runtime := "globalThis.self=globalThis;" + pageruntime.Guard(nonce, replace.Calls()...) + "self.report" + nonce +
		"=()=>({});" + everyRuntime
	all := trapsAndPoints(t)
	var runs []run
	for _, c := range all {
		runs = append(runs, run{c.src, c.goal == ecma.Module, runtime, nonce})
		for gate := instrument.Slow; gate <= instrument.Unmeasured; gate++ {
			r, err := instrument.Rewrite(c.src, c.goal, instrument.Plan{Shape: instrument.Time, Nonce: nonce,
				Gate: func(uint32) instrument.Gate { return gate }, Policies: append(every[:1:1], replace)})
			if err == nil {
				err = r.Verify(c.src, c.goal)
			}
			if err != nil {
				t.Errorf("%s, gate %d: %v\n%s", c.name, gate, err, r.Text)
			}
			runs = append(runs, run{r.Text, c.goal == ecma.Module, runtime, nonce})
		}
	}
	const each = 5
	results := inNode[ran](t, "run.mjs", runs)
	for i, r := range results {
		if plain := results[i-i%each]; !reflect.DeepEqual(plain.behaviour, r.behaviour) {
			t.Errorf("%s: plain %+v\ngate %d %+v\n%s", all[i/each].name, plain.behaviour, i%each, r.behaviour,
				runs[i].Text)
		}
	}
}

// TestProgramsOfPoints verifies programs with insertions at every place, and with all policies.
// Node must compile them if it compiles the plain ones.
func TestProgramsOfPoints(t *testing.T) {
	every, _ := everything()
	listed, _ := named(t, allNames())
	var runs []run
	takes := inPart()
	for path, goal := range programFiles(t) {
		if !takes(path) {
			continue
		}
		src := fromFile(t, path)
		runs = append(runs, run{Text: src, Module: goal == ecma.Module})
		for _, policies := range [][]policy.Policy{every[:1], listed} {
			plan := instrument.Plan{Shape: instrument.Time, Nonce: instrument.Nonce(src), Policies: policies}
			r, err := instrument.Rewrite(src, goal, plan)
			if err == nil {
				err = r.Verify(src, goal)
			}
			if err != nil && !strings.Contains(err.Error(), "times the program") {
				t.Errorf("%s: %v\n%.300s", path, err, r.Text)
			}
			runs = append(runs, run{Text: r.Text, Module: goal == ecma.Module})
		}
	}
	problems := inNode[string](t, "compile.mjs", runs)
	for i, problem := range problems {
		if plain := i - i%3; problem != "" && problems[plain] == "" {
			t.Errorf("%s\n%.300s\n%.600s", problem, runs[plain].Text, runs[i].Text)
		}
	}
}

// TestCorpusOfPoints verifies the JavaScript files from npm with insertions at every place, and
// with all policies. The soak takes all files. Otherwise it is one file in 40.
func TestCorpusOfPoints(t *testing.T) {
	every, _ := everything()
	listed, _ := named(t, allNames())
	step, seen, verified := 40, 0, 0
	if soak {
		step = 1
	}
	err := filepath.WalkDir(fromNPM, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "js") {
			return err
		}
		if seen++; seen%step != 0 {
			return nil
		}
		src, goal := fromFile(t, path), ecma.Script
		if _, err := ecma.Parse(src, goal); err != nil {
			goal = ecma.Module
		}
		if _, err := ecma.Parse(src, goal); err != nil {
			return nil // an example of a syntax error, or JSON
		}
		verified++
		for _, policies := range [][]policy.Policy{every[:1], listed} {
			plan := instrument.Plan{Shape: instrument.Time, Nonce: instrument.Nonce(src), Policies: policies}
			r, err := instrument.Rewrite(src, goal, plan)
			if err == nil {
				err = r.Verify(src, goal)
			}
			if err != nil && !strings.Contains(err.Error(), "times the program") {
				t.Errorf("%s: %v", path, err)
			}
		}
		return nil
	})
	if err != nil && !os.IsNotExist(err) || err == nil && verified < 6000/step {
		t.Errorf("%d of %d files are verified: %v", verified, seen, err)
	}
}
