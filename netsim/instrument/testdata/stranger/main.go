// The program runs a script with a policy in Node, and prints the policy's report.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/eideticker/eideticker/netsim/ecma"
	"github.com/eideticker/eideticker/netsim/instrument"
	"github.com/eideticker/eideticker/netsim/instrument/policy"
	"github.com/eideticker/eideticker/netsim/instrument/record"
	"github.com/eideticker/eideticker/netsim/instrument/runtime"
)

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(name, realms string) error {
	src, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	all, err := policy.Named(name)
	if err != nil {
		return err
	}
	r, err := instrument.Rewrite(string(src), ecma.Script, instrument.Plan{Shape: instrument.Count, Nonce: "$test",
		Policies: all, FirstPoint: 1})
	if err == nil {
		err = r.Verify(string(src), ecma.Script)
	}
	if err != nil {
		return err
	}
	p := all[0]
	prelude := runtime.Prelude(runtime.Options{Nonce: "$test", Collector: "http://rig.test/.eideticker/x/",
		Policies: []runtime.Policy{{Name: p.Name, Text: p.Runtime, Calls: p.Calls()}}})
	input, err := json.Marshal(map[string]any{"prelude": prelude, "code": r.Text + "\n;await rig.timers(2000)"})
	if err != nil {
		return err
	}
	cmd := exec.Command("node", realms)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	var ran struct {
		Thrown  string
		Batches []struct {
			Records []struct {
				Code, Argument int
				ID             uint32
				At             float64
			}
		}
	}
	if err := json.Unmarshal(out, &ran); err != nil {
		return err
	}
	state := p.New()
	for _, b := range ran.Batches {
		for _, v := range b.Records {
			if record.Code(v.Code) == record.Value && v.Argument < len(p.Fields) {
				state.Add(policy.Value{Point: v.ID, Field: v.Argument, Number: v.At})
			}
		}
	}
	report := state.Report(func(n uint32) policy.Point { return policy.Point{Number: n} })
	type row struct {
		Code   string
		Values []float64
	}
	answer := struct {
		Thrown, Sentence string
		Rows             []row
	}{ran.Thrown, report.Sentence, nil}
	for _, one := range report.Rows {
		at := r.Points[one.Point-1]
		answer.Rows = append(answer.Rows, row{string(src[at.Start:at.End]), one.Values})
	}
	return json.NewEncoder(os.Stdout).Encode(answer)
}
