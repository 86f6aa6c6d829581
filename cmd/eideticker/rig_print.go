package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/remote"
)

// printDone prints the result of an action on one thing.
func (c rigCall) printDone(json.RawMessage) error {
	_, err := fmt.Fprintf(c.out, "%s: %s\n", terminal.Clean(c.last()), map[string]string{"cancel": "cancelled",
		"delete": "deleted", "pin": "pinned", "unpin": "not pinned", "release": "released"}[c.Do])
	return err
}

// printNarrow prints names and details within 80 columns.
func (c rigCall) printNarrow(name, details string, rows [][]string) error {
	if len(rows) == 0 {
		return nil
	}
	return terminal.Wrapped(c.out, []string{name, details}, rows, min(80, terminal.Columns(c.out)))
}

func wallText(ns int64) string { return time.Unix(0, ns).Format(time.DateTime) }

func (c rigCall) printStatus(s api.Status) error {
	states, waiting := map[string]int{}, 0
	var devices []string
	for _, d := range s.Devices {
		states[d.State]++
	}
	for _, state := range slices.Sorted(maps.Keys(states)) {
		devices = append(devices, fmt.Sprintf("%d %s", states[state], state))
	}
	for _, j := range s.Jobs {
		if j.State == "queued" {
			waiting++
		}
	}
	used := bytesText(s.Store.UsedBytes)
	if s.Store.MaxBytes > 0 {
		used += " of " + bytesText(s.Store.MaxBytes)
	}
	var l terminal.List
	l.Add("rig", "%s", terminal.Joined(", ", s.Host, s.Program))
	l.Add("state", "%s since %s", s.State, wallText(s.StartedWallNS))
	l.Add("you", "%s, role %s", s.Owner, s.Role)
	l.Add("devices", "%s", strings.Join(devices, ", "))
	l.Add("jobs", "%d running, %d waiting", len(s.Jobs)-waiting, waiting)
	l.Add("store", "%s, %s; %s free on the disk", plural(s.Store.Runs, "run"), used,
		bytesText(s.Store.FreeBytes))
	return l.Print(c.out)
}

func (c rigCall) printDevices(all api.DeviceList) error {
	var rows [][]string
	for _, d := range all.Devices {
		reserved := ""
		if r := d.Reserved; r != nil {
			reserved = "reserved for " + r.Owner + " until " + wallText(r.UntilWallNS) + wording.Prefixed(": ", r.Note)
		}
		state := d.State + wording.Prefixed(", job ", d.Job)
		if d.InUseBy != "" {
			state = "in use by " + d.InUseBy
		}
		rows = append(rows, []string{d.Name, terminal.Joined("; ", state, reserved,
			wording.Prefixed("quarantine: ", d.Quarantine), strings.Join(d.Browsers, " "))})
	}
	return c.printNarrow("DEVICE", "STATE", rows)
}

func (c rigCall) printRuns(page api.Runs) error {
	var rows [][]string
	for _, r := range page.Runs {
		pinned := ""
		if r.Pinned {
			pinned = "pinned"
		}
		rows = append(rows, []string{r.ID, terminal.Joined(", ", r.State, r.Verdict, pinned,
			terminal.Joined(" on ", r.Browser, r.Device), r.Label)})
	}
	if more := page.Total - len(page.Runs); more > 0 {
		fmt.Fprintf(c.err, "%s more; use --limit\n", countText(more))
	}
	return c.printNarrow("RUN", "STATE", rows)
}

func (c rigCall) printJobs(all api.Jobs) error {
	var rows [][]string
	for i := range all.Jobs {
		if j := &all.Jobs[i]; j.EndedWallNS == 0 || i < c.Limit {
			rows = append(rows, []string{j.ID, terminal.Joined("; ", remote.JobText(j), terminal.Joined(" on ", j.Owner,
				strings.Join(j.Devices, " ")), j.Label)})
		}
	}
	return c.printNarrow("JOB", "STATE", rows)
}

func (c rigCall) printReserved(r api.Reserved) error {
	if r.Key == "" {
		return c.printDone(nil)
	}
	var l terminal.List
	l.Add("device", "%s", r.Device)
	l.Add("until", "%s", wallText(r.UntilWallNS))
	l.Add("key", "%s", r.Key)
	return l.Print(c.out)
}

func (c rigCall) printBaselines(all api.Baselines) error {
	var rows [][]string
	for _, b := range all.Baselines {
		rows = append(rows, []string{b.Name, b.ID})
	}
	return c.printNarrow("BASELINE", "RUN", rows)
}

func (c rigCall) printCleaned(done api.Cleaned) error {
	var rows [][]string
	size := int64(0)
	for _, f := range done.Files {
		size += f.Bytes
		rows = append(rows, []string{f.Name, fmt.Sprintf("%s; %s, unused for %s", f.Why, bytesText(f.Bytes),
			wording.Age(time.Since(time.Unix(0, f.UsedWallNS))))})
	}
	if err := c.printNarrow("FILE", "WHY", rows); err != nil {
		return err
	}
	what := "to remove; --yes removes them"
	if c.Yes || len(rows) == 0 {
		what = "removed"
	}
	_, err := fmt.Fprintf(c.err, "%s, %s %s; %s left\n", plural(len(rows), "file"), bytesText(size), what,
		bytesText(done.LeftBytes))
	return err
}
