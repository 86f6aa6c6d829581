package remote

import (
	"fmt"
	"strings"

	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/deploy/api"
)

// JobText describes the state of a rig's job.
func JobText(j *api.Job) string {
	switch {
	case j.EndedWallNS != 0:
		return j.State + wording.Prefixed(": ", j.Reason)
	case j.Reason != "" && !strings.HasPrefix(j.Reason, "device "): // such as "waits: yields to b"
		return j.State + ": " + j.Reason
	case j.Reason != "": // such as "device a is at job b"
		return "waiting for " + strings.Replace(j.Reason, " is ", ", which is ", 1)
	case j.State == "queued":
		return waitText(j)
	case j.Phase == nil:
		return j.State
	}
	return j.State + ": " + terminal.Joined(", ", wording.Prefixed("run ", j.Phase.Run), j.Phase.Name)
}

// waitText returns why a job waits, or "".
func waitText(j *api.Job) string {
	text := "waiting"
	switch {
	case j.EndedWallNS != 0 || j.Position == 0 && j.Reason == "":
		return ""
	case j.Position > 0:
		text += fmt.Sprintf(", number %d in the queue", j.Position)
	}
	return text + wording.Prefixed("; ", j.Reason)
}

// FleetJobText describes the state of a fleet's job.
func FleetJobText(j *api.FleetJob) string {
	text := j.State
	if n := len(j.Attempts); n > 0 {
		a := j.Attempts[n-1]
		text += fmt.Sprintf(" on %s/%s", a.Rig, strings.Join(a.Devices, ","))
		if j.EndedWallNS == 0 {
			text += wording.Prefixed(": ", a.Progress)
		}
	}
	if j.Position > 0 {
		text += fmt.Sprintf(", number %d of class %s", j.Position, j.Class)
	}
	return terminal.Clean(text + wording.Prefixed("; ", j.Reason) + wording.Prefixed("; ", j.Verdict))
}
