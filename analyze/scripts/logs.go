package scripts

import (
	"fmt"
	"os"
	"slices"

	"github.com/eideticker/eideticker/analyze/trace"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/netsim/instrument/record"
)

// ReadLogs reads the logs of all threads of a program, and returns problems. The threads without
// calls are left out.
func ReadLogs(info *Info, logs ...string) (run *Run, problems []string, err error) {
	var arrived []trace.Arrived
	problem := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	for _, path := range logs {
		f, err := os.Open(path)
		if err != nil {
			return nil, problems, err
		}
		all, err := ReadLog(f, timeline.Time(info.StartNS))
		f.Close() // only read
		if err != nil {
			problem("records are missing: %v", err)
		}
		arrived = append(arrived, all...)
	}
	run = New(info, arrived)
	run.Trace.Realms = slices.DeleteFunc(run.Trace.Realms,
		func(r *trace.Realm) bool { return len(r.Calls)+len(r.Gaps) == 0 })
	for _, text := range run.Trace.Problems {
		problem("%s", text)
	}
	lost := int64(0)
	for _, r := range run.Trace.Realms {
		for _, g := range r.Gaps {
			switch g.Cause {
			case record.SwitchedOff:
				continue
			case record.OverQuota:
				problem("the recording of %s ended: it has too many records", r.URL)
			}
			lost += g.Records
		}
	}
	if lost > 0 {
		problem("lost records: %d", lost)
	}
	plain := 0
	for _, p := range info.Programs {
		if p.Plain != "" {
			if plain++; plain <= 10 {
				problem("%s is not traced: %s", p.URL, p.Plain)
			}
		}
	}
	if plain > 10 {
		problem("%d of %s are not traced", plain, wording.Plural(len(info.Programs), "file"))
	}
	return run, problems, nil
}
