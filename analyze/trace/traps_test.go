package trace

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/netsim/ecma"
	"github.com/eideticker/eideticker/netsim/instrument"
	"github.com/eideticker/eideticker/netsim/instrument/record"
)

const traps = "../../netsim/instrument/testdata/"

// TestTrapsOfTheRewriter runs the rewriter's traps in Node. After each record, the call on top of
// the stack must be the one that ran. Only a laptop may be without Node.
func TestTrapsOfTheRewriter(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	names, runs := rewritten(t)
	input := analyzetest.Must(json.Marshal(runs))(t)
	cmd := exec.CommandContext(t.Context(), node, "--no-warnings", "--experimental-vm-modules", traps+"run.mjs")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), os.Stderr
	out, err := cmd.Output()
	var results []struct {
		Records [][3]uint32 // code, id, call on top
	}
	if err == nil {
		err = json.Unmarshal(out, &results)
	}
	if err != nil || len(results) != len(runs) || len(runs) < 50 {
		t.Fatalf("%d results of %d: %v", len(results), len(runs), err)
	}
	total := 0
	for i, result := range results {
		if len(result.Records) == 0 {
			t.Errorf("%s: no records", names[i])
			continue
		}
		total += len(result.Records)
		all := many(len(result.Records)+1, func(k int) record.Record {
			if k == len(result.Records) {
				return record.Record{Code: record.End, At: float64(k + 1)}
			}
			r := result.Records[k]
			return record.Record{Code: record.Code(r[0]), ID: r[1], At: float64(k + 1)}
		})
		tr := Build(all, 0)
		for _, text := range tr.Problems {
			if strings.Contains(text, "contradict") {
				t.Errorf("%s: %s", names[i], text)
			}
		}
		r, at := tr.Realms[0], 0
		for k, rec := range result.Records {
			for at+1 < len(r.at) && r.at[at+1] <= int64(k+1)*1e6 {
				at++
			}
			want := rec[2]*4 - 4
			if rec[2] == 0 {
				want = idle
			}
			if got := r.top[at] &^ flags; got != want {
				t.Errorf("%s: after record %d (%v), top is %d, want %d\n%v", names[i], k, rec, int32(got)/4,
					int32(want)/4,
					result.Records[:min(k+1, 100)])
				break
			}
		}
	}
	if total < 1000 {
		t.Errorf("%d records", total)
	}
}

func outsideOf(module bool) instrument.Outside {
	if module {
		return instrument.OfModule
	}
	return instrument.OfScript
}

type run struct {
	Text    string `json:"text"`
	Module  bool   `json:"module"`
	Runtime string `json:"runtime"`
	Nonce   string `json:"nonce"`
}

// rewritten returns the traps with insertions.
func rewritten(t *testing.T) (names []string, runs []run) {
	const nonce = "$n0"
	text := analyzetest.Must(os.ReadFile(traps + "traps.txt"))(t)
	runtime := analyzetest.Must(os.ReadFile("testdata/runtime.js"))(t)
	code := strings.ReplaceAll(string(runtime), "NONCE", nonce)
	heads := regexp.MustCompile(`(?m)^-- (.+?)(?: \((module|open|module, open)\))? --\n`).FindAllSubmatchIndex(text, -1)
	for i, h := range heads {
		end := len(text)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		module := h[4] >= 0 && strings.HasPrefix(string(text[h[4]:h[5]]), "module")
		goal := ecma.Script
		if module {
			goal = ecma.Module
		}
		for _, outside := range []instrument.Outside{instrument.Functions, outsideOf(module)} {
			r, err := instrument.Rewrite(string(text[h[1]:end]), goal, instrument.Plan{Shape: instrument.Time,
				Nonce: nonce, First: 1, Outside: outside})
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, string(text[h[2]:h[3]]))
			runs = append(runs, run{r.Text, module, code, nonce})
		}
	}
	return names, runs
}
