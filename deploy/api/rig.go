package api

import "encoding/json"

// Empty is for methods that take or return nothing.
type Empty struct{}

// Status is the result of rig.status.
type Status struct {
	Program       string   `json:"program" doc:"name and version of the program"`
	Host          string   `json:"host" doc:"name of the machine"`
	NowWallNS     int64    `json:"now_wall_ns" doc:"the rig's clock, nanoseconds since 1970"`
	StartedWallNS int64    `json:"started_wall_ns" doc:"when the daemon was started"`
	State         string   `json:"state" doc:"\"running\", or \"ending\" while jobs are brought to their end"`
	Seq           uint64   `json:"seq" doc:"number of the latest event"`
	Role          Role     `json:"role" doc:"what the caller may do: view, run, admin"`
	Owner         string   `json:"owner" doc:"name of the caller's token; \"local\" without one"`
	Devices       []Device `json:"devices"`
	Jobs          []Job    `json:"jobs" doc:"waiting or at work, in their expected order"`
	Store         Space    `json:"store"`
	Clients       int      `json:"clients" doc:"connected by websocket"`
}

// Space is room on the disk.
type Space struct {
	UsedBytes int64 `json:"used_bytes" doc:"of all runs, archives of sites, traces and caches"`
	FreeBytes int64 `json:"free_bytes" doc:"of the file system"`
	MaxBytes  int64 `json:"max_bytes" doc:"quota: above it the oldest runs that are not pinned are deleted; 0 is none"`
	Runs      int   `json:"runs"`
	// Archive is empty without an archive.
	Archive string `json:"archive,omitempty" doc:"why the last copies to the archive failed"`
}

// Device is a device, and what it is at.
type Device struct {
	Name     string   `json:"name"`
	About    string   `json:"about,omitempty" doc:"one sentence for people"`
	Source   string   `json:"source" doc:"what sees its screen, as devices.yaml has it"`
	Input    string   `json:"input" doc:"what touches it"`
	Browsers []string `json:"browsers" doc:"that it has; the first runs if none is asked for"`
	Power    bool     `json:"power" doc:"it can be switched on and off"`

	State      string       `json:"state" doc:"free, running, keeping, reserved, quarantined or elsewhere"`
	Job        string       `json:"job,omitempty" doc:"ID of the job at work on it"`
	InUseBy    string       `json:"in_use_by,omitempty" doc:"in state elsewhere: the other program"`
	Quarantine string       `json:"quarantine,omitempty" doc:"why no job begins on it"`
	Failures   int          `json:"failures_in_row" doc:"faults of the lab since the last run that did not fail"`
	Reserved   *Reservation `json:"reserved,omitempty"`
	Signal     *Signal      `json:"signal,omitempty" doc:"of the source, while it is open"`
	Capture    *Capture     `json:"capture,omitempty" doc:"of the recording at work"`
}

// Signal is what a source delivers.
type Signal struct {
	Width       int     `json:"width_px"`
	Height      int     `json:"height_px"`
	PixelFormat string  `json:"pixel_format"`
	PeriodNS    float64 `json:"period_ns" doc:"nominal time from frame to frame; 0 unknown"`
}

// Capture is how a recording is going.
type Capture struct {
	Frames    uint64  `json:"frames" doc:"stored"`
	Lost      uint64  `json:"lost_frames"`
	Bytes     int64   `json:"bytes" doc:"written"`
	RingFill  float64 `json:"ring_fill" doc:"0 to 1; at 1 frames are lost"`
	Encoding  float64 `json:"encoding_share" doc:"share of the recorder's time at work; at 1 the ring fills"`
	ElapsedNS int64   `json:"elapsed_ns"`
}

// Reservation keeps a device for its holder's jobs.
type Reservation struct {
	Owner       string `json:"owner" doc:"name of the token that made it"`
	Note        string `json:"note,omitempty"`
	UntilWallNS int64  `json:"until_wall_ns"`
}

// DeviceList is the result of device.list.
type DeviceList struct {
	Devices []Device `json:"devices"`
}

// DeviceName names a device.
type DeviceName struct {
	Device string `json:"device"`
}

// ReserveParams are those of device.reserve.
type ReserveParams struct {
	Device  string `json:"device"`
	ForNS   int64  `json:"for_ns" limit:"over 0, at most 24 h" doc:"for how long"`
	Note    string `json:"note,omitempty" limit:"128 bytes" doc:"why, for others to read"`
	Key     string `json:"key,omitempty" doc:"of a reservation, to prolong it"`
	Release bool   `json:"release,omitempty" doc:"end the reservation instead; an admin needs no key"`
}

// Reserved is the result of device.reserve.
type Reserved struct {
	Device string `json:"device"`
	Key    string `json:"key" doc:"required by run.start and record.start; empty after a release"`
	Reservation
}

// QuarantineParams are those of device.quarantine.
type QuarantineParams struct {
	Device string `json:"device"`
	Reason string `json:"reason,omitempty" limit:"128 bytes" doc:"why no job is to begin on it"`
	Lift   bool   `json:"lift,omitempty" doc:"let jobs begin again"`
}

// PowerParams are those of device.power.
type PowerParams struct {
	Device string `json:"device"`
	Do     string `json:"do" doc:"\"on\", \"off\" or \"cycle\": off, three seconds, on"`
}

// Tests is the result of suite.list.
type Tests struct {
	Tests    []Test        `json:"tests"`
	Problems []TestProblem `json:"problems" doc:"test files that cannot be read"`
	Networks []string      `json:"networks" doc:"profiles of the link"`
	Policies []TestPolicy  `json:"policies" doc:"measuring code for scripts"`
}

// TestPolicy is a policy that instruments scripts.
type TestPolicy struct {
	Name    string `json:"name"`
	Meaning string `json:"meaning"`
}

// Test is a test of the suite.
type Test struct {
	Name     string   `json:"name"`
	About    string   `json:"about"`
	Standard bool     `json:"standard" doc:"comes with the program"`
	Measures []string `json:"measures" doc:"empty: all that apply"`
	Repeat   int      `json:"repeat" doc:"runs that it asks for itself; 0 is one"`
	Text     string   `json:"text,omitempty" doc:"the test file; suite.get alone has it"`
}

// CheckParams are those of suite.check.
type CheckParams struct {
	Upload Upload `json:"upload"`
}

// Checked is the result of suite.check.
type Checked struct {
	Name     string        `json:"name" doc:"of the test; empty: the file cannot be read"`
	Problems []TestProblem `json:"problems" doc:"empty: a job can be started with the file"`
}

// TestName names a test.
type TestName struct {
	Test string `json:"test"`
}

// TestProblem is an error in a test file.
type TestProblem struct {
	File    string `json:"file"`
	Line    int    `json:"line" doc:"0: the file as a whole"`
	Column  int    `json:"column"`
	Problem string `json:"problem"`
}

// Sources is the result of sources.list: what eideticker sources --json prints.
type Sources = json.RawMessage
